import { randomInt } from "node:crypto";

const ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789";
const ID_LENGTH = 20;
const SHORT_ID_LENGTH = 8;

/** A new id: 103 bits that nobody guesses, and a valid host-name label. */
export function createSandboxId(): string {
  return Array.from({ length: ID_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");
}

export function isSandboxId(text: string): boolean {
  return /^[a-z0-9]{20}$/.test(text);
}

export function isShortId(text: string): boolean {
  return /^[a-z0-9]{8}$/.test(text);
}

export function toShortId(id: string): string {
  return id.slice(0, SHORT_ID_LENGTH);
}
