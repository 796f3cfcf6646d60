import { BelljarError } from "../../errors.ts";

/** X's names of keys, by what models and other tools call them. */
const NAMES: Readonly<Record<string, string>> = {
  enter: "Return",
  return: "Return",
  esc: "Escape",
  escape: "Escape",
  tab: "Tab",
  space: "space",
  backspace: "BackSpace",
  back_space: "BackSpace",
  delete: "Delete",
  del: "Delete",
  insert: "Insert",
  ins: "Insert",
  home: "Home",
  end: "End",
  pageup: "Page_Up",
  page_up: "Page_Up",
  pgup: "Page_Up",
  pagedown: "Page_Down",
  page_down: "Page_Down",
  pgdn: "Page_Down",
  up: "Up",
  down: "Down",
  left: "Left",
  right: "Right",
  arrowup: "Up",
  arrowdown: "Down",
  arrowleft: "Left",
  arrowright: "Right",
  capslock: "Caps_Lock",
  caps_lock: "Caps_Lock",
  printscreen: "Print",
  print: "Print",
  menu: "Menu",
  pause: "Pause",
};

const MODIFIERS: Readonly<Record<string, string>> = {
  ctrl: "ctrl",
  control: "ctrl",
  alt: "alt",
  option: "alt",
  shift: "shift",
  super: "super",
  meta: "super",
  cmd: "super",
  command: "super",
  win: "super",
  windows: "super",
};

const KEYSYM = /^[A-Za-z][A-Za-z0-9_]{1,39}$/;
const FUNCTION_KEY = /^f([1-9]|1\d|2[0-4])$/;
const CHORDS_MAX = 50;
/** xdotool loses count of more. */
const KEYS_OF_CHORD_MAX = 6;

/** `ctrl+s`, or several after one another, as xdotool is given them. Throws `ARGUMENTS_INVALID` for what is no key. */
export function parseChords(text: string): readonly string[] {
  if (text === " ") return ["space"];
  const chords = text.split(/\s+/).filter((chord) => chord !== "");
  if (chords.length === 0) throw new BelljarError("ARGUMENTS_INVALID", "Name a key, such as Return or ctrl+s");
  if (chords.length > CHORDS_MAX) throw new BelljarError("ARGUMENTS_INVALID", `At most ${CHORDS_MAX} keys in one call`);
  return chords.map(parseChord);
}

/** `ctrl+shift`, for keys that are held. Throws `ARGUMENTS_INVALID` for others. */
export function parseModifiers(text: string): readonly string[] {
  return splitChord(text.trim()).map((name) => {
    const known = lookUp(MODIFIERS, name);
    if (known !== undefined) return known;
    throw new BelljarError("ARGUMENTS_INVALID", `${JSON.stringify(name.slice(0, 40))} cannot be held: use ctrl, shift, alt or super`);
  });
}

function parseChord(chord: string): string {
  const names = splitChord(chord);
  if (names.length > KEYS_OF_CHORD_MAX)
    throw new BelljarError("ARGUMENTS_INVALID", `At most ${KEYS_OF_CHORD_MAX} keys are pressed together`);
  const isChord = names.slice(0, -1).some((name) => (lookUp(MODIFIERS, name) ?? "shift") !== "shift");
  return names.map((name) => toKeysym(isChord ? lowered(name) : name)).join("+");
}

/** The key `+` itself may stand last. */
function splitChord(chord: string): readonly string[] {
  if (chord === "+") return ["+"];
  return chord.endsWith("++") ? [...chord.slice(0, -2).split("+"), "+"] : chord.split("+");
}

/** Some models write CTRL+A for ctrl+a, and X takes a capital for shift. */
function lowered(name: string): string {
  return /^[A-Z]$/.test(name) ? name.toLowerCase() : name;
}

function toKeysym(name: string): string {
  const known = lookUp(MODIFIERS, name) ?? lookUp(NAMES, name);
  if (known !== undefined) return known;
  if (FUNCTION_KEY.test(name.toLowerCase())) return name.toUpperCase();
  if (Array.from(name).length === 1) return /^[A-Za-z0-9]$/.test(name) ? name : toCodeName(name);
  if (KEYSYM.test(name)) return name;
  throw new BelljarError("ARGUMENTS_INVALID", `${JSON.stringify(name.slice(0, 40))} is no key: use X's names, such as Return or ctrl+s`);
}

/** X's name of any character. */
export function toCodeName(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `U${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

function lookUp(names: Readonly<Record<string, string>>, name: string): string | undefined {
  const lower = name.toLowerCase();
  return Object.hasOwn(names, lower) ? names[lower] : undefined;
}
