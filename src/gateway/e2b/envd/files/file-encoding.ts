import type { Readable } from "node:stream";
import { finished, Transform } from "node:stream";
import { createGunzip } from "node:zlib";
import { BelljarError } from "../../../../errors.ts";

/** Far more than files of programs have; a few megabytes of gzip can stand for terabytes. */
export const UNZIPPED_MAX_BYTES = 16 * 1024 ** 3;

interface Coding {
  readonly name: string;
  readonly quality: number;
}

/**
 * Gzip for a client that names no other coding, or that refuses the bytes as they are. A list of several codings is what HTTP libraries send for whoever says
 * nothing: they get the bytes as they are, since on one machine it takes longer to pack them than to send them. Throws `ENCODING_UNACCEPTABLE`.
 */
export function chooseEncoding(accepted: string | undefined): "gzip" | "identity" {
  const codings = parseCodings(accepted ?? "");
  const quality = (name: string): number | undefined => codings.find((one) => one.name === name)?.quality;
  const any = quality("*");
  const takesGzip = (quality("gzip") ?? any ?? 0) > 0;
  const takesIdentity = (quality("identity") ?? any ?? 1) > 0;
  if (!takesGzip && !takesIdentity)
    throw new BelljarError("ENCODING_UNACCEPTABLE", "no acceptable encoding found, supported: gzip, identity");
  const namesGzipAlone = codings.length === 1 && quality("gzip") !== undefined;
  return takesGzip && (!takesIdentity || namesGzipAlone) ? "gzip" : "identity";
}

function parseCodings(accepted: string): readonly Coding[] {
  const texts = accepted.split(",").filter((one) => one.trim() !== "");
  return texts.map((text) => {
    const [name = "", ...parameters] = text.split(";").map((one) => one.trim().toLowerCase());
    const quality = parameters.find((one) => one.startsWith("q="));
    const number = quality === undefined ? 1 : Number(quality.slice(2));
    return { name, quality: Number.isNaN(number) ? 1 : number };
  });
}

/**
 * The bytes that a body stands for. The stream fails with `ARGUMENTS_INVALID` for what is no whole gzip, and with `REQUEST_TOO_LARGE` behind 16 GiB. Throws
 * `ARGUMENTS_INVALID` for another encoding.
 */
export function unpackBody(body: Readable, encoding: string | undefined, maxBytes = UNZIPPED_MAX_BYTES): Readable {
  const name = (encoding ?? "identity").trim().toLowerCase();
  if (name === "identity" || name === "") return body;
  if (name !== "gzip") throw new BelljarError("ARGUMENTS_INVALID", `unsupported Content-Encoding: ${name}, supported: gzip`);
  const gunzip = createGunzip();
  const unpacked = boundBytes(maxBytes);
  finished(body, { writable: false }, (error) => void (error && unpacked.destroy(error)));
  gunzip.on("error", (cause) => unpacked.destroy(damaged(cause)));
  // Whoever reads it may stop anywhere.
  unpacked
    .on("error", () => undefined)
    .once("close", () => {
      body.unpipe(gunzip);
      gunzip.destroy();
      body.destroy();
    });
  body.pipe(gunzip).pipe(unpacked);
  return unpacked;
}

function damaged(cause: Error): BelljarError {
  return new BelljarError("ARGUMENTS_INVALID", `error decompressing request body: ${cause.message}`, { cause });
}

function boundBytes(maxBytes: number): Transform {
  let size = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length;
      if (size <= maxBytes) done(null, chunk);
      else done(new BelljarError("REQUEST_TOO_LARGE", `The request's body unpacks to more than ${maxBytes} bytes`));
    },
  });
}
