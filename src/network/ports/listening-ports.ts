import { BelljarError } from "../../errors.ts";
import type { Guest } from "../../runtime/guest/guest.ts";
import type { ListeningPort } from "./port-link.ts";

/** The kernel lists listening sockets first, so a program cannot hide them behind many other sockets. */
const TABLE_MAX_BYTES = 1024 * 1024;
const LISTEN = "0A";
/** Ports of the guest itself, as root: the proxies and the name server. */
const OWN_PORTS = new Set([3128, 1080, 53]);
const OWN_RANGE = /^198\.1[89]\./;

/** Lists the TCP ports that programs of a sandbox listen on, ordered by port and address. */
export async function listListening(guest: Guest, signal: AbortSignal): Promise<readonly ListeningPort[]> {
  const tables = await Promise.all(["/proc/net/tcp", "/proc/net/tcp6"].map((path) => readTableIfPresent(guest, path, signal)));
  return tables
    .flatMap(parseListening)
    .filter((one) => !isOwn(one))
    .toSorted((one, other) => one.port - other.port || (one.address < other.address ? -1 : 1));
}

/** Returns an empty text if the kernel does not have this protocol. */
async function readTableIfPresent(guest: Guest, path: string, signal: AbortSignal): Promise<string> {
  try {
    return (await guest.files.read(path, { limit: TABLE_MAX_BYTES, signal })).toString("latin1");
  } catch (error) {
    if (error instanceof BelljarError && error.code === "FILE_NOT_FOUND") return "";
    throw error;
  }
}

function isOwn({ address, port, uid }: ListeningPort): boolean {
  return OWN_RANGE.test(address) || (address === "127.0.0.1" && uid === 0 && OWN_PORTS.has(port));
}

/** Returns the listening rows of `/proc/net/tcp` or `tcp6`. The guest is untrusted: rows of another shape are ignored. */
export function parseListening(table: string): readonly ListeningPort[] {
  return table.split("\n").flatMap((line) => {
    const row = /^\s*\d+: ([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4}) [0-9A-F]+:[0-9A-F]{4} ([0-9A-F]{2}) \S+ \S+ \S+\s+(\d{1,10})\s/.exec(
      line,
    );
    if (!row || row[3] !== LISTEN) return [];
    const [, address = "", port = "", , uid] = row;
    return [{ port: Number.parseInt(port, 16), address: toAddress(address), uid: Number(uid) }];
  });
}

/** The kernel prints an address as 32-bit words in host byte order, which is little-endian on all supported platforms. */
function toAddress(hex: string): string {
  const bytes = Buffer.from(hex, "hex");
  bytes.swap32();
  if (bytes.length === 4) return bytes.join(".");
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16));
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
}
