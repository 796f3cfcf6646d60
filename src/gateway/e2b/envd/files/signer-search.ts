import { Slices } from "../../../../async/slices.ts";
import { Turns } from "../../../../async/turns.ts";
import { BelljarError } from "../../../../errors.ts";
import type { E2b } from "../../e2b.ts";
import type { SignedFile } from "./file-signature.ts";
import { createSignatureCheck } from "./file-signature.ts";

/** Finds the sandbox with whose token a URL was signed that names none. */
export interface SignerSearch {
  /** Undefined: none that lives. Rejects with `QUOTA_EXCEEDED` while too many were looked for in vain. */
  find(signed: SignedFile): Promise<string | undefined>;
}

export interface SearchBudget {
  /** Tries of tokens that searches in vain may cost in a second. */
  readonly triesPerS: number;
  /** Of those that were not used, so many wait. */
  readonly triesMax: number;
  readonly now: () => number;
}

/** Some five hundredths of one processor. */
const BUDGET: SearchBudget = { triesPerS: 50_000, triesMax: 100_000, now: () => performance.now() };
/** Of a search in a home with few sandboxes. */
const SEARCH_TRIES_MIN = 100;
const WAITING_MAX = 64;
/** Found lately: they are tried first, and also while nothing else is. */
const LATELY_MAX = 64;
const RETRY_MS = 1_000;

type Parts = Pick<E2b, "tokens"> & { readonly sandboxes: Pick<E2b["sandboxes"], "linkedIds"> };

/**
 * Everybody may ask, and each sandbox costs a hash. So searches run one at a time, in slices between which the server does its other work, and those in
 * vain share a budget. Sandboxes that were found lately are found at any time.
 */
export function createSignerSearch({ tokens, sandboxes }: Parts, allowed = BUDGET): SignerSearch {
  const turns = new Turns(WAITING_MAX);
  const budget = createBudget(allowed);
  const lately = new Set<string>();
  let known = new Map<string, string>();
  const tokenOf = (id: string): string => {
    const token = known.get(id) ?? tokens.of("access", id);
    known.set(id, token);
    return token;
  };
  const look = async (signed: SignedFile): Promise<string | undefined> => {
    const isSigner = createSignatureCheck(signed);
    const found = [...lately].findLast((id) => isSigner(tokenOf(id)));
    if (found !== undefined) return found;
    if (!budget.hasLeft()) throw tooMany();
    const ids = await sandboxes.linkedIds();
    if (known.size > 2 * (ids.length + LATELY_MAX)) known = new Map();
    const slices = new Slices();
    for (const id of ids) {
      if (isSigner(tokenOf(id))) return id;
      const pause = slices.next();
      if (pause) await pause;
    }
    budget.spend(Math.max(ids.length, SEARCH_TRIES_MIN));
    return undefined;
  };
  return {
    async find(signed) {
      using _turn = await turns.take().catch(() => Promise.reject(tooMany()));
      const id = await look(signed);
      if (id === undefined) return undefined;
      lately.delete(id);
      lately.add(id);
      const [oldest] = lately;
      if (lately.size > LATELY_MAX && oldest !== undefined) lately.delete(oldest);
      return id;
    },
  };
}

interface Budget {
  hasLeft(): boolean;
  /** May go below nothing: then it takes so much longer. */
  spend(tries: number): void;
}

function createBudget({ triesPerS, triesMax, now }: SearchBudget): Budget {
  let [left, at] = [triesMax, now()];
  return {
    hasLeft() {
      const moment = now();
      left = Math.min(triesMax, left + ((moment - at) / 1_000) * triesPerS);
      at = moment;
      return left > 0;
    },
    spend: (tries) => void (left -= tries),
  };
}

function tooMany(): BelljarError {
  const message = "Too many signatures came that no sandbox has made: try again, or send E2b-Sandbox-Id and E2b-Sandbox-Port";
  return new BelljarError("QUOTA_EXCEEDED", message, { retryAfterMs: RETRY_MS });
}
