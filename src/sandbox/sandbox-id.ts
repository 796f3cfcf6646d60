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

/** Whether an id may begin so. */
export function isIdStart(text: string): boolean {
  return /^[a-z0-9]{1,20}$/.test(text);
}

/** Whether a person may call a sandbox so. What looks like an id is none, nor is the last part of a route's path. */
export function isSandboxName(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(text) && !isSandboxId(text) && text !== "events";
}

export function isShortId(text: string): boolean {
  return /^[a-z0-9]{8}$/.test(text);
}

export function toShortId(id: string): string {
  return id.slice(0, SHORT_ID_LENGTH);
}
