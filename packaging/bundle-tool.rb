class BundleTool < Formula
  desc "Package Kubernetes operators for OLM"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license "Apache-2.0"

  on_macos do
    #if darwin-arm64
    on_arm do
      url "@REPOSITORY@/releases/download/v@VERSION@/bundle-tool-darwin-arm64.tar.gz"
      sha256 "@SHA256:darwin-arm64@"
    end
    #end
    #if darwin-amd64
    on_intel do
      url "@REPOSITORY@/releases/download/v@VERSION@/bundle-tool-darwin-amd64.tar.gz"
      sha256 "@SHA256:darwin-amd64@"
    end
    #end
  end

  on_linux do
    #if linux-arm64
    on_arm do
      url "@REPOSITORY@/releases/download/v@VERSION@/bundle-tool-linux-arm64.tar.gz"
      sha256 "@SHA256:linux-arm64@"
    end
    #end
    #if linux-amd64
    on_intel do
      url "@REPOSITORY@/releases/download/v@VERSION@/bundle-tool-linux-amd64.tar.gz"
      sha256 "@SHA256:linux-amd64@"
    end
    #end
  end

  def install
    bin.install "bundle-tool"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/bundle-tool.bash" => "bundle-tool"
    zsh_completion.install "completions/bundle-tool.zsh" => "_bundle-tool"
    fish_completion.install "completions/bundle-tool.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/bundle-tool --version")
  end
end
