// Writes zstd frames for tests, of blocks that are not compressed, or of one byte again and again.

const MAX_BLOCK = 128 << 10;

function frame(size, blocks) {
  const header = Buffer.alloc(9);
  header.writeUInt32LE(0xfd2fb528, 0);
  // One segment, whose size has four bytes.
  header[4] = 0xa0;
  header.writeUInt32LE(size, 5);
  return Buffer.concat([header, ...blocks]);
}

function block(kind, size, isLast, content) {
  const header = Buffer.alloc(3);
  header.writeUIntLE((size << 3) | (kind << 1) | Number(isLast), 0, 3);
  return Buffer.concat([header, content]);
}

/** Returns a frame of bytes. */
export function zstd(bytes) {
  const blocks = [];
  for (let at = 0; at < bytes.length; at += MAX_BLOCK) {
    const content = bytes.subarray(at, at + MAX_BLOCK);
    blocks.push(block(0, content.length, at + MAX_BLOCK >= bytes.length, content));
  }
  return frame(bytes.length, blocks);
}

/** Returns frames of zeros, about one byte for 30 thousand. */
export function zeros(size) {
  const frames = [];
  for (let rest = size; rest > 0; rest -= MAX_BLOCK) frames.push(frame(MAX_BLOCK, [block(1, MAX_BLOCK, true, Buffer.of(0))]));
  return Buffer.concat(frames);
}
