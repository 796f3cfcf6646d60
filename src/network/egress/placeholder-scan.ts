import { Transform } from "node:stream";
import type { SecretGuard } from "../secrets/secret-guard.ts";
import { Refusal } from "./refusal.ts";

/** Longer than any placeholder: so much is looked at again with what follows. */
const OVERLAP_BYTES = 512;

/** Passes bytes on until one of them ends a placeholder, which never belongs into traffic that no guard fills. */
export function scanForPlaceholders(guard: SecretGuard, found: (refusal: Refusal) => void): Transform {
  let tail = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const seen = Buffer.concat([tail, chunk]);
      if (guard.hasPlaceholder(seen))
        return found(new Refusal("placeholder", "A secret's placeholder was sent to a host that the secret is not for."));
      tail = Buffer.from(seen.subarray(-OVERLAP_BYTES));
      return done(null, chunk);
    },
  });
}
