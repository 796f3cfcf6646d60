import { createHmac, timingSafeEqual } from "node:crypto";

/** `access`: files and processes of a sandbox. `traffic`: its ports. `volume`: the files of a volume. */
export type TokenKind = "access" | "traffic" | "volume";

/**
 * The tokens that E2B's clients get with a sandbox or a volume. They are made from a key of the home, the kind and the id, so nothing of them is
 * stored: they are valid as long as the id is, after a restart and a rollback too, and a fork has others.
 */
export interface SandboxTokens {
  of(kind: TokenKind, id: string): string;
  /** The id that a valid token of this kind is for. */
  idOf(kind: TokenKind, token: string): string | undefined;
  /** Takes the same time for every wrong token. */
  isValid(kind: TokenKind, id: string, token: string): boolean;
}

/** One letter each, so that a reader of logs can tell them and nobody takes one for another. */
const LETTERS: Readonly<Record<TokenKind, string>> = { access: "a", traffic: "t", volume: "v" };
const TOKEN = /^e2b([atv])_([a-z0-9]{1,64})_[A-Za-z0-9_-]{43}$/;

export function createSandboxTokens(key: Uint8Array): SandboxTokens {
  const of = (kind: TokenKind, id: string): string =>
    `e2b${LETTERS[kind]}_${id}_${createHmac("sha256", key).update(`${kind}:${id}`).digest("base64url")}`;
  const isValid = (kind: TokenKind, id: string, token: string): boolean => {
    const [right, given] = [Buffer.from(of(kind, id)), Buffer.from(token)];
    return right.length === given.length && timingSafeEqual(right, given);
  };
  return {
    of,
    isValid,
    idOf(kind, token) {
      const [, letter, id] = TOKEN.exec(token) ?? [];
      return id !== undefined && letter === LETTERS[kind] && isValid(kind, id, token) ? id : undefined;
    },
  };
}
