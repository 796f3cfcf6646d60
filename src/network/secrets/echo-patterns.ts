/** A value that may come back, and its placeholder inside. */
export interface KnownValue {
  readonly value: string;
  readonly placeholder: string;
}

/** An encoding of echoes: which characters are equivalent, and which may stand between others. */
export interface Alphabet {
  fold(unit: number): number;
  /** The share of `SKIP_MAX` that this character uses between two others. 0 if it may not stand there. */
  skip(unit: number): number;
}

/** One way to write a value: characters of an alphabet, after unescaping. */
export interface EchoPattern {
  readonly id: number;
  readonly alphabet: Alphabet;
  readonly units: Uint16Array;
  /** For each prefix, its longest border (Knuth, Morris and Pratt), so that the search is linear for any content. */
  readonly borders: Uint32Array;
  /** The replacement of a match. */
  readonly put: Buffer;
}

/** All patterns, indexed by their first character. */
export interface EchoPatterns {
  readonly all: readonly EchoPattern[];
  /** Returns the patterns that begin with this character. */
  begunBy(unit: number): readonly EchoPattern[];
  /** Maximum number of bytes that a match can cover. */
  readonly holdBytes: number;
  /** The highest character of all patterns. */
  readonly most: number;
  /** Maximum number of readings that are followed at once. Beyond it, all bytes that may be a value are masked. */
  readonly waysMax: number;
  /** Maximum number of begun patterns in one reading. */
  readonly runsMax: number;
}

/** Allows one line break and some spaces, or three bytes of a wide character. Two line breaks end an event, which must pass. */
export const SKIP_MAX = 15;
const LINE_BREAK = 8;
/** Shorter encodings would match too many harmless texts. */
const ENCODED_MIN = 8;
const [NUL, TAB, LF, CR, SPACE, PLUS, COMMA, HYPHEN, SLASH, COLON, LOWBAR] = [0, 9, 10, 13, 32, 43, 44, 45, 47, 58, 95];
const WIDE_SKIP = 5;

function lower(unit: number): number {
  if (unit < 0x80) return unit >= 0x41 && unit <= 0x5a ? unit + 32 : unit;
  const text = String.fromCharCode(unit).toLowerCase();
  return text.length === 1 ? text.charCodeAt(0) : unit;
}

const skipBlank = (unit: number): number => {
  if (unit === NUL) return WIDE_SKIP;
  if (unit === LF) return LINE_BREAK;
  return unit === CR || unit === SPACE || unit === TAB ? 1 : 0;
};

/** Plain text in any case, with plus signs for spaces, in characters of one, two or four bytes. */
const TEXT: Alphabet = {
  fold: (unit) => (unit === PLUS ? SPACE : lower(unit)),
  skip: (unit) => (unit === NUL ? WIDE_SKIP : 0),
};

/** Both alphabets of base64, over several lines. */
const BASE64: Alphabet = {
  fold: (unit) => (unit === HYPHEN ? PLUS : unit === LOWBAR ? SLASH : unit),
  skip: skipBlank,
};

/** Hexadecimal digits in any case, and lists of decimal numbers, over several lines. */
const DIGITS: Alphabet = {
  fold: lower,
  skip: (unit) => (unit === COLON || unit === COMMA || unit === HYPHEN ? 1 : skipBlank(unit)),
};

/** Maximum number of bytes of one character in any escape. */
const CHARACTER_BYTES_MAX = 32;
const WAYS_MAX = 32;
/** In one reading, each pattern has one run, or two where readings meet. */
const RUNS_OF_A_PATTERN = 2;
/** A repetitive pattern may have many runs. */
const RUNS_MIN = 64;

export function createEchoPatterns(values: readonly KnownValue[]): EchoPatterns {
  const all = values.flatMap(patternsOf).map((pattern, id) => ({ id, ...pattern }));
  const beginningWith = (unit: number): readonly EchoPattern[] => all.filter(({ alphabet, units }) => units[0] === alphabet.fold(unit));
  const byByte = Array.from({ length: 256 }, (_, unit) => beginningWith(unit));
  return {
    all,
    begunBy: (unit) => byByte[unit] ?? beginningWith(unit),
    holdBytes: Math.max(0, ...all.map(({ units }) => units.length)) * CHARACTER_BYTES_MAX,
    most: all.reduce((most, { units }) => units.reduce((one, other) => Math.max(one, other), most), 0x7f),
    waysMax: WAYS_MAX,
    runsMax: Math.max(RUNS_MIN, all.length * RUNS_OF_A_PATTERN),
  };
}

/** Returns all forms in which servers are known to return a value. */
function patternsOf({ value, placeholder }: KnownValue): readonly Omit<EchoPattern, "id">[] {
  const bytes = Buffer.from(value);
  const digits = [bytes.toString("hex"), bytes.join("")];
  return [
    ...textForms(value).map((text) => createPattern(TEXT, text, Buffer.from(placeholder))),
    ...base64Cores(bytes)
      .filter(isLongEnough)
      .map((text) => createPattern(BASE64, text)),
    ...digits.filter(isLongEnough).map((text) => createPattern(DIGITS, text)),
  ];
}

/** The value as characters and as UTF-8 bytes, and as in XML, where a CDATA section must split its own end mark. */
function textForms(value: string): readonly string[] {
  const texts = [value, value.replaceAll("]]>", "]]]]><![CDATA[>")];
  const cased = [...texts, ...texts.map((text) => text.toUpperCase()), ...texts.map((text) => text.toLowerCase())];
  const forms = [...texts, ...cased.map((text) => Buffer.from(text).toString("latin1"))];
  return forms.filter((form, index) => forms.findIndex((other) => foldText(other) === foldText(form)) === index);
}

function foldText(text: string): string {
  return String.fromCharCode(...Array.from({ length: text.length }, (_, index) => TEXT.fold(text.charCodeAt(index))));
}

function isLongEnough(text: string): boolean {
  return text.length >= ENCODED_MIN;
}

/** For each of the three offsets in a base64 triple: the characters that depend only on the value. */
function base64Cores(value: Buffer): readonly string[] {
  return [0, 1, 2].map((before) => {
    const bits = (before + value.length) * 8;
    const text = Buffer.concat([Buffer.alloc(before), value]).toString("base64");
    return text.slice(before === 0 ? 0 : before + 1, Math.floor(bits / 6));
  });
}

function createPattern(alphabet: Alphabet, text: string, put = Buffer.alloc(text.length, "*")): Omit<EchoPattern, "id"> {
  const units = Uint16Array.from({ length: text.length }, (_, index) => alphabet.fold(text.charCodeAt(index)));
  return { alphabet, units, borders: bordersOf(units), put };
}

function bordersOf(units: Uint16Array): Uint32Array {
  const borders = new Uint32Array(units.length);
  for (let index = 1, length = 0; index < units.length; index++) {
    while (length > 0 && units[index] !== units[length]) length = borders[length - 1] ?? 0;
    if (units[index] === units[length]) length++;
    borders[index] = length;
  }
  return borders;
}
