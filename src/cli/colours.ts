type Paint = (text: string) => string;

/** Each paints a text, or leaves it as it is where colour is not wanted. */
export interface Colours {
  readonly bold: Paint;
  readonly dim: Paint;
  readonly red: Paint;
  readonly green: Paint;
  readonly yellow: Paint;
  readonly cyan: Paint;
}

const CODES: { readonly [Name in keyof Colours]: readonly [on: number, off: number] } = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
};

/** Colours for a terminal that shows them, unless NO_COLOR is set. A text of others must be made printable before it is painted. */
export function coloursFor(stream: { readonly isTTY?: boolean }, env: Readonly<Record<string, string | undefined>> = process.env): Colours {
  const wanted = stream.isTTY === true && !env["NO_COLOR"] && env["TERM"] !== "dumb";
  const paints = Object.entries(CODES).map(([name, [on, off]]) => [name, wanted ? paintWith(on, off) : asIs] as const);
  return Object.fromEntries(paints) as Record<keyof Colours, Paint>;
}

function paintWith(on: number, off: number): Paint {
  return (text) => (text === "" ? "" : `\u001B[${on}m${text}\u001B[${off}m`);
}

function asIs(text: string): string {
  return text;
}
