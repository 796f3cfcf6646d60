import { invalidImage } from "./image-error.ts";

export const BLOCK_BYTES = 512;

export type TarKind = "file" | "link" | "directory" | "long-name" | "long-link" | "pax" | "other";

export interface TarHeader {
  readonly kind: TarKind;
  readonly name: string;
  /** From the archive's root, unless it is absolute. */
  readonly link: string;
  /** The text of a symbolic link. Absent: it is none. */
  readonly target?: string;
  /** Permissions alone. */
  readonly mode: number;
  readonly size: number;
}

const KINDS: Readonly<Record<string, TarKind>> = {
  "0": "file",
  "\0": "file",
  "7": "file",
  "1": "link",
  "2": "link",
  "5": "directory",
  L: "long-name",
  K: "long-link",
  x: "pax",
};
const CHECKSUM_AT = 148;
const PERMISSIONS = 0o777;

/** Parses the header of an entry. Returns undefined for the zeros at a tar's end. Throws `IMAGE_INVALID`. */
export function parseTarHeader(block: Buffer): TarHeader | undefined {
  if (block.every((byte) => byte === 0)) return undefined;
  if (readOctal(block, CHECKSUM_AT, 8) !== checksum(block)) throw invalidImage("its archive is no tar, or is damaged");
  const type = String.fromCharCode(block[156] ?? 0);
  // The old format of GNU has times where POSIX has the prefix.
  const prefix = readText(block, 257, 8) === "ustar" ? readText(block, 345, 155) : "";
  const name = readText(block, 0, 100);
  const kind = KINDS[type] ?? "other";
  const link = readText(block, 157, 100);
  return {
    kind,
    name: prefix === "" ? name : `${prefix}/${name}`,
    link: type === "1" || type === "2" ? toTarget(type, name, link) : "",
    ...(type === "2" && { target: link }),
    mode: readOctal(block, 100, 8) & PERMISSIONS,
    size: kind === "link" || kind === "directory" ? 0 : readSize(block),
  };
}

/** A symbolic link is relative to its folder, and a hard link to the archive's root. */
export function toTarget(type: "1" | "2", name: string, link: string): string {
  return type === "1" || link.startsWith("/") ? link : `${name.slice(0, name.lastIndexOf("/") + 1)}${link}`;
}

function readSize(block: Buffer): number {
  const first = block[124] ?? 0;
  if ((first & 0x80) === 0) return readOctal(block, 124, 12);
  const bytes = [first & 0x7f, ...block.subarray(125, 136)];
  const size = bytes.reduce((number, byte) => number * 256 + byte, 0);
  if (!Number.isSafeInteger(size)) throw invalidImage("an entry of its archive has an impossible size");
  return size;
}

function readOctal(block: Buffer, at: number, length: number): number {
  const text = readText(block, at, length).trim();
  if (!/^[0-7]*$/.test(text)) throw invalidImage("its archive is no tar, or is damaged");
  return text === "" ? 0 : Number.parseInt(text, 8);
}

function readText(block: Buffer, at: number, length: number): string {
  const field = block.subarray(at, at + length);
  const end = field.indexOf(0);
  return field.subarray(0, end < 0 ? length : end).toString("utf8");
}

/** The sum of all bytes, with blanks for the sum itself. */
function checksum(block: Buffer): number {
  const blanks = 8 * 0x20;
  return block.reduce((sum, byte, at) => sum + (at >= CHECKSUM_AT && at < CHECKSUM_AT + 8 ? 0 : byte), blanks);
}
