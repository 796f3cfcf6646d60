import { isIPv4 } from "node:net";
import { BelljarError } from "../errors.ts";
import { malformed } from "./fields.ts";

const IPV4_BYTES = 6;

export interface Address {
  /** IPv4, dotted. */
  readonly address: string;
  readonly port: number;
}

/** The value of an ADDRESS field. Throws `ARGUMENTS_INVALID`. */
export function encodeAddress({ address, port }: Address): Buffer {
  if (!isIPv4(address) || !Number.isInteger(port) || port < 1 || port > 0xffff) {
    throw new BelljarError(
      "ARGUMENTS_INVALID",
      `${address}:${port} is not an address to listen on; give an IPv4 address and a port from 1 to 65535`,
    );
  }
  const bytes = Buffer.from([...address.split(".").map(Number), 0, 0]);
  bytes.writeUInt16BE(port, IPV4_BYTES - 2);
  return bytes;
}

/** Throws `GUEST_PROTOCOL`. */
export function parseAddress(bytes: Buffer): Address {
  if (bytes.length !== IPV4_BYTES) throw malformed("an address of another family");
  return { address: bytes.subarray(0, IPV4_BYTES - 2).join("."), port: bytes.readUInt16BE(IPV4_BYTES - 2) };
}
