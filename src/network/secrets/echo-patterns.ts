/** A value that may come back, and what the program inside wrote in its place. */
export interface KnownValue {
  readonly value: string;
  readonly placeholder: string;
}

/** What an echo is written in: which characters stand for the same, and which may stand between. */
export interface Alphabet {
  fold(unit: number): number;
  /** How much of `SKIP_MAX` a character between two others takes; 0 when none may stand there. */
  skip(unit: number): number;
}

/** One way to write a value: characters of an alphabet, found through escapes. */
export interface EchoPattern {
  readonly id: number;
  readonly alphabet: Alphabet;
  readonly units: Uint16Array;
  /** For each length of a prefix, the longest shorter prefix that ends it (Knuth, Morris and Pratt): no content makes the search slow. */
  readonly borders: Uint32Array;
  /** What is put in its place. */
  readonly put: Buffer;
}

/** All that is looked for, ready for every character. */
export interface EchoPatterns {
  readonly all: readonly EchoPattern[];
  /** Those that this character begins. */
  begunBy(unit: number): readonly EchoPattern[];
  /** The most bytes that one of them takes. */
  readonly holdBytes: number;
  /** The last character that any of them has. */
  readonly most: number;
  /** In how many ways bytes are read at once. Where there are more, all that may be a value is hidden. */
  readonly waysMax: number;
  /** How many patterns may have begun in one way. */
  readonly runsMax: number;
}

/** One line break and some spaces, or three bytes of a wide character. Never two line breaks: these end an event, which must pass. */
export const SKIP_MAX = 15;
const LINE_BREAK = 8;
/** Shorter encodings stand in too much that is no secret. */
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

/** In any case, a space as a plus sign, and each character in two or four bytes. */
const TEXT: Alphabet = {
  fold: (unit) => (unit === PLUS ? SPACE : lower(unit)),
  skip: (unit) => (unit === NUL ? WIDE_SKIP : 0),
};

/** Both tables, and over several lines. */
const BASE64: Alphabet = {
  fold: (unit) => (unit === HYPHEN ? PLUS : unit === LOWBAR ? SLASH : unit),
  skip: skipBlank,
};

/** Hex in any case and lists of numbers, over several lines. */
const DIGITS: Alphabet = {
  fold: lower,
  skip: (unit) => (unit === COLON || unit === COMMA || unit === HYPHEN ? 1 : skipBlank(unit)),
};

/** However it is escaped, a character takes no more bytes. */
const CHARACTER_BYTES_MAX = 32;
const WAYS_MAX = 32;
/** In one way each pattern stands at one place, or at two where ways meet. */
const RUNS_OF_A_PATTERN = 2;
/** A pattern that repeats itself may stand at many. */
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

/** Every way in which servers are known to give back what they were sent. */
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

/** By its characters, and by the bytes of UTF-8; a CDATA section cannot hold its own end. */
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

/** At each of the three places of a triple: the characters that stand for bytes of the value alone. */
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
