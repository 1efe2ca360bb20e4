/* bcryptprimitives.dll, from which Rust's standard library takes random numbers. wine 8 does not have it. */
__declspec(dllimport) unsigned char __stdcall SystemFunction036(void *buffer, unsigned long length);

__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *buffer, unsigned long long length) {
  while (length > 0) {
    unsigned long part = length > 0x10000000 ? 0x10000000 : (unsigned long)length;
    if (!SystemFunction036(buffer, part)) return 0;
    buffer += part;
    length -= part;
  }
  return 1;
}
