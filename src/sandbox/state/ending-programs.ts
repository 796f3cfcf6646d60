import { printable } from "../../files/printable.ts";
import type { Guest } from "../../runtime/guest/guest.ts";
import { BACKGROUND_MARK } from "../background-mark.ts";
import { BelljarError } from "../../errors.ts";

const ASKED_MS = 3_000;
const SHOWN_MAX = 64;
const SHOWN_CHARACTERS = 100;

/**
 * The contexts and background processes that live in a sandbox. Whatever it answers may be a hostile program's. Empty if it does not
 * answer in time: a rollback does not need it.
 */
export async function listEndingPrograms({ listKept, processes }: Pick<Guest, "listKept" | "processes">): Promise<readonly string[]> {
  const signal = AbortSignal.timeout(ASKED_MS);
  try {
    const [kept, rows] = await Promise.all([listKept(signal), processes(signal)]);
    const contexts = kept.flatMap(({ name, pid }) => (pid === undefined ? [] : [toKeptText(name)]));
    const ids = rows.flatMap(({ argv }) => (argv[3] === BACKGROUND_MARK && argv[4] !== undefined ? [argv[4]] : []));
    const background = [...new Set(ids)].map((id) => shown(`background process ${id}`));
    return [...contexts, ...background].slice(0, SHOWN_MAX);
  } catch (cause) {
    if (cause instanceof BelljarError) return [];
    throw cause;
  }
}

function toKeptText(name: string): string {
  return shown(name.startsWith("context-") ? `context ${name.slice("context-".length)}` : `command ${name}`);
}

function shown(text: string): string {
  return printable(text.slice(0, SHOWN_CHARACTERS));
}
