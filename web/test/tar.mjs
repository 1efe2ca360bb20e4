// Writes tar archives for tests.

/** Returns an archive of paths and contents. */
export function tarball(files) {
  const parts = [];
  for (const [path, content] of files) {
    const bytes = Buffer.from(content);
    const header = Buffer.alloc(512);
    header.write(path.slice(-100), 0);
    header.write("0000644\0", 100);
    header.write(`${bytes.length.toString(8).padStart(11, "0")}\0`, 124);
    header.write("00000000000\0", 136);
    header.write("        ", 148);
    header.write("0", 156);
    header.write("ustar\u000000", 257);
    if (path.length > 100) {
      const at = path.lastIndexOf("/", 154);
      header.fill(0, 0, 100);
      header.write(path.slice(at + 1), 0);
      header.write(path.slice(0, at), 345);
    }
    const sum = header.reduce((sum, byte) => sum + byte, 0);
    header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
    parts.push(header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512));
  }
  return Buffer.concat([...parts, Buffer.alloc(1024)]);
}
