/** The records of a stream, without the byte that ends each. Undefined stands for one that is longer than `maxBytes`; it is not kept. */
export async function* readRecords(
  content: AsyncIterable<Buffer>,
  { separator, maxBytes }: { readonly separator: number; readonly maxBytes: number },
): AsyncGenerator<Buffer | undefined, void, undefined> {
  let parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of content) {
    let start = 0;
    for (let end = chunk.indexOf(separator); end >= 0; end = chunk.indexOf(separator, start)) {
      const tail = chunk.subarray(start, end);
      yield size + tail.length > maxBytes ? undefined : Buffer.concat([...parts, tail]);
      [parts, size, start] = [[], 0, end + 1];
    }
    size += chunk.length - start;
    if (size <= maxBytes) parts.push(chunk.subarray(start));
    else parts = [];
  }
  if (size > 0) yield size > maxBytes ? undefined : Buffer.concat(parts);
}
