import * as z from "zod";
import { textResult } from "../../catalog/tool-result.ts";
import { BelljarError } from "../../errors.ts";
import { acceptPoints } from "./computer-arguments.ts";
import { computerTool } from "./computer-tool.ts";
import { parseChords, toCodeName } from "./key-names.ts";

const TEXT_MAX = 4_000;
const KEYS_MAX = 400;
/** Programs lose what comes faster. */
const TYPE_DELAY_MS = 8;
/** xdotool lends such a character a key, and takes it back after this time: by then the program must have looked up what the key is. */
const LENT_DELAY_MS = 80;
const LENT_MAX = 500;
/** Characters with a key of their own, and those without. What controls a terminal is neither. */
const RUNS = /[\t\n\r -~]+|[\u{80}-\u{10ffff}]+/gu;
/** xdotool takes a line feed for a key of that name, which most programs do not know. */
const RETURN = "\r";
const TYPE_TIMEOUT_MS = 50_000;
const KEY_DELAY_MS = "12";
const REPEAT_MAX = 100;
/** Of all keys of a call, with each repetition. */
const PRESSES_MAX = 400;
const HOLD_MAX_SECONDS = 10;
const KEY_TIMEOUT_MS = 30_000;

export const computerType = computerTool({
  name: "computer_type",
  title: "Type on the desktop",
  description: "Types a text where the focus is; a line break presses Return. Long texts are better written into a file.",
  fields: { text: z.string().min(1).max(TEXT_MAX) },
  async run(display, { text }) {
    const typed = text.replaceAll(/\r?\n/g, RETURN);
    await display.act(typeRuns(typed), { timeoutMs: TYPE_TIMEOUT_MS, releases: releaseCharacters(typed) });
    return textResult(`Typed ${Array.from(text).length} characters`);
  },
});

function typeRuns(text: string): readonly string[] {
  let lent = 0;
  const acts = (text.match(RUNS) ?? []).flatMap((run) => {
    const isLent = run > "~";
    if (isLent) lent += Array.from(run).length;
    return ["type", "--delay", String(isLent ? LENT_DELAY_MS : TYPE_DELAY_MS), "--args", "1", "--", run];
  });
  if (acts.length === 0) throw new BelljarError("ARGUMENTS_INVALID", "The text has no character that can be typed");
  if (lent <= LENT_MAX) return acts;
  const limit = `At most ${LENT_MAX} characters that no key has are typed at once, and the text has ${lent}`;
  throw new BelljarError("ARGUMENTS_INVALID", `${limit}: type it in parts, or write it into a file`);
}

function releaseCharacters(text: string): readonly string[] {
  const names = [...new Set(text)].map((character) => (character === RETURN ? "Return" : toCodeName(character)));
  return ["shift", ...names].flatMap((name) => ["keyup", toKey(name)]);
}

export const computerKey = computerTool({
  name: "computer_key",
  title: "Press keys on the desktop",
  description:
    "Presses a key or a chord, as xdotool names them: Return, ctrl+s, alt+Tab, Page_Down. Several, with spaces between, one after another.",
  accept: acceptPoints,
  fields: {
    text: z.string().min(1).max(KEYS_MAX).describe("Such as ctrl+s"),
    repeat: z.number().int().min(1).max(REPEAT_MAX).optional().describe("Default 1"),
    duration: z.number().min(0).max(HOLD_MAX_SECONDS).optional().describe("Seconds for which the keys are held"),
  },
  async run(display, { text, repeat = 1, duration }) {
    const chords = parseChords(text);
    assertShort(chords.flatMap((chord) => chord.split("+")).length * repeat, (duration ?? 0) * repeat);
    const keys = chords.map(toKey);
    const once = duration === undefined ? ["key", "--delay", KEY_DELAY_MS, ...keys] : hold(keys, duration);
    const releases = keys.flatMap((key) => ["keyup", key]);
    await display.act(Array.from({ length: repeat }, () => once).flat(), { timeoutMs: KEY_TIMEOUT_MS, releases });
    return textResult(`Pressed ${chords.join(" ")}${repeat > 1 ? ` ${repeat} times` : ""}`);
  },
});

function assertShort(presses: number, seconds: number): void {
  if (presses > PRESSES_MAX) throw new BelljarError("ARGUMENTS_INVALID", `${presses} keys are more than the ${PRESSES_MAX} of one call`);
  if (seconds <= HOLD_MAX_SECONDS) return;
  throw new BelljarError("ARGUMENTS_INVALID", `One call holds keys for ${HOLD_MAX_SECONDS} seconds at most, with all repetitions`);
}

/** xdotool takes `exec`, or any other of its commands, as the next command. With a plus before it, the word is the name of a key. */
function toKey(chord: string): string {
  return `+${chord}`;
}

function hold(keys: readonly string[], seconds: number): readonly string[] {
  return [...keys.flatMap((key) => ["keydown", key]), "sleep", String(seconds), ...keys.flatMap((key) => ["keyup", key])];
}
