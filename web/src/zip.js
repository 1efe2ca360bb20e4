// Writes a zip archive of a few files, uncompressed, with one fixed time: the same files give the same bytes.

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value >>> 0;
});

function crc32(bytes) {
  let value = 0xffffffff;
  for (const byte of bytes) value = TABLE[(value ^ byte) & 0xff] ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}

/** Returns the archive; `files` are paths and bytes. */
export function zipped(files) {
  const parts = [];
  const directory = [];
  let offset = 0;
  for (const [path, bytes] of files) {
    const name = new TextEncoder().encode(path);
    const common = new DataView(new ArrayBuffer(26));
    common.setUint16(0, 20, true);
    // Names are UTF-8.
    common.setUint16(2, 0x0800, true);
    // 1980-01-01
    common.setUint16(8, 0x21, true);
    common.setUint32(10, crc32(bytes), true);
    common.setUint32(14, bytes.length, true);
    common.setUint32(18, bytes.length, true);
    common.setUint16(22, name.length, true);
    const fields = new Uint8Array(common.buffer);
    parts.push(Uint8Array.of(0x50, 0x4b, 3, 4), fields, name, bytes);
    const entry = new DataView(new ArrayBuffer(14));
    entry.setUint32(10, offset, true);
    directory.push(Uint8Array.of(0x50, 0x4b, 1, 2, 20, 0), fields, new Uint8Array(entry.buffer), name);
    offset += 30 + name.length + bytes.length;
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0);
  const end = new DataView(new ArrayBuffer(22));
  end.setUint32(0, 0x06054b50, true);
  end.setUint16(8, files.length, true);
  end.setUint16(10, files.length, true);
  end.setUint32(12, size, true);
  end.setUint32(16, offset, true);
  return new Blob([...parts, ...directory, new Uint8Array(end.buffer)], { type: "application/zip" });
}
