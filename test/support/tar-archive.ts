const BLOCK = 512;
const TYPES = {
  file: "0",
  "hard-link": "1",
  link: "2",
  characters: "3",
  blocks: "4",
  folder: "5",
  fifo: "6",
  pax: "x",
  global: "g",
  "long-name": "L",
  "long-link": "K",
  sparse: "S",
} as const;

/** An entry of an archive, with nothing checked: tests say what no program would write. */
export interface TarEntry {
  readonly name: string | Buffer;
  /** Default: `file`. */
  readonly type?: keyof typeof TYPES;
  readonly content?: string | Buffer;
  readonly link?: string | Buffer;
  readonly mode?: number;
  readonly uid?: number;
  readonly gid?: number;
  readonly mtime?: number;
  /** Of the header; default: the content's. */
  readonly size?: number;
  /** Records of a pax header before it. */
  readonly pax?: Readonly<Record<string, string | Buffer>>;
  /** Changes the header before it gets its checksum. */
  readonly change?: (header: Buffer) => void;
  readonly checksum?: number;
}

/** Entries, and the end that an archive has. */
export function tarArchive(...entries: readonly TarEntry[]): Buffer {
  return Buffer.concat([...entries.map(encodeEntry), Buffer.alloc(2 * BLOCK)]);
}

export function encodeEntry(entry: TarEntry): Buffer {
  const content = Buffer.from((entry.content ?? "") as string);
  const before = entry.pax ? encodeEntry({ name: "pax", type: "pax", content: paxRecords(entry.pax) }) : Buffer.alloc(0);
  return Buffer.concat([before, encodeHeader(entry, entry.size ?? content.length), content, Buffer.alloc(-content.length & (BLOCK - 1))]);
}

export function paxRecords(records: Readonly<Record<string, string | Buffer>>): Buffer {
  return Buffer.concat(
    Object.entries(records).map(([key, value]) => {
      const rest = Buffer.concat([Buffer.from(` ${key}=`), Buffer.from(value as string), Buffer.from("\n")]);
      const digits = [1, 2, 3, 4, 5, 6, 7].find((count) => String(count + rest.length).length === count) ?? 0;
      return Buffer.concat([Buffer.from(String(digits + rest.length)), rest]);
    }),
  );
}

function encodeHeader(
  { name, type = "file", link = "", mode = 0o644, uid = 0, gid = 0, mtime = 1e9, ...more }: TarEntry,
  size: number,
): Buffer {
  const header = Buffer.alloc(BLOCK);
  Buffer.from(name as string).copy(header, 0, 0, 100);
  const octal = (at: number, length: number, value: number): void => void header.write(value.toString(8).padStart(length - 1, "0"), at);
  octal(100, 8, mode);
  octal(108, 8, uid);
  octal(116, 8, gid);
  octal(124, 12, size);
  octal(136, 12, mtime);
  header.write(TYPES[type], 156);
  Buffer.from(link as string).copy(header, 157, 0, 100);
  header.write("ustar\u000000", 257);
  more.change?.(header);
  header.fill(" ", 148, 156);
  const sum = more.checksum ?? header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}

/** An archive as it arrives: by default in sizes that end within headers. */
export async function* piecesOf(archive: Buffer, size = 60_001): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < archive.length; at += size) yield archive.subarray(at, at + size);
}
