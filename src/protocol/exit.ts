import { EXIT_BYTES } from "./frames.ts";

/** The numbers of an EXIT frame, as on the wire. */
export interface Exit {
  readonly code: number;
  /** 0 if the process exited by itself. */
  readonly signal: number;
  readonly flags: number;
  readonly durationUs: bigint;
  readonly cpuUs: bigint;
  readonly memoryPeakBytes: bigint;
}

/** The frame decoder has checked the length of `payload`. */
export function parseExit(payload: Buffer): Exit {
  return {
    code: payload.readUInt32BE(0),
    signal: payload.readUInt32BE(4),
    flags: payload.readUInt32BE(8),
    durationUs: payload.readBigUInt64BE(12),
    cpuUs: payload.readBigUInt64BE(20),
    memoryPeakBytes: payload.readBigUInt64BE(28),
  };
}

export function encodeExit(exit: Exit): Buffer {
  const payload = Buffer.allocUnsafe(EXIT_BYTES);
  payload.writeUInt32BE(exit.code, 0);
  payload.writeUInt32BE(exit.signal, 4);
  payload.writeUInt32BE(exit.flags, 8);
  payload.writeBigUInt64BE(exit.durationUs, 12);
  payload.writeBigUInt64BE(exit.cpuUs, 20);
  payload.writeBigUInt64BE(exit.memoryPeakBytes, 28);
  return payload;
}
