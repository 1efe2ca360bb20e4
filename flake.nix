{
  description = "Package Kubernetes operators for OLM";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      each = build: nixpkgs.lib.genAttrs systems (system: build nixpkgs.legacyPackages.${system});
      workspace = (builtins.fromTOML (builtins.readFile ./Cargo.toml)).workspace.package;
    in
    {
      packages = each (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "bundle-tool";
          version = workspace.version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          # The configuration of this directory is for the static builds of rustup's toolchain.
          postPatch = "rm -r .cargo rust-toolchain.toml";
          buildAndTestSubdir = "bundle-tool";
          nativeBuildInputs = [ pkgs.installShellFiles ];
          # The tests need git and a loopback network; CI runs them.
          doCheck = false;
          postInstall = ''
            $out/bin/bundle-tool man --output-dir man
            installManPage man/*.1
            for shell in bash zsh fish; do
              $out/bin/bundle-tool completions $shell >bundle-tool.$shell
            done
            installShellCompletion bundle-tool.{bash,zsh,fish}
          '';
          meta = {
            description = "Package Kubernetes operators for OLM";
            license = pkgs.lib.licenses.asl20;
            mainProgram = "bundle-tool";
          };
        };
      });
    };
}
