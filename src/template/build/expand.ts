import { invalidLine, quoted, shown } from "./dockerfile-error.ts";

const DEPTH_MAX = 16;
/** Of one step. A variable may hold the one before it twice, line by line, and a step may name it on each word. */
const RESULT_MAX = 65_536;
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;

export interface Expanding {
  readonly line: number;
  readonly escape: string;
  /** Undefined for a variable that is not set. */
  readonly find: (name: string) => string | undefined;
}

/**
 * Puts in variables and takes quotes away, as Docker does outside of `RUN`: nothing is put in between single quotes or after the escape.
 * `$A`, `${A}`, and with `:-`, `-`, `:+`, `+`, `:?` or `?` and a text. Throws `DOCKERFILE_INVALID`.
 */
export function expandText(text: string, options: Expanding): string {
  return createExpand(options)(text);
}

/** Does the same for all texts of one step. Together they come to 65,536 characters at most. */
export function createExpand(options: Expanding): (text: string) => string {
  const size = { used: 0 };
  return (text) => new Expansion(text, options, size).all();
}

/** Goes through the text once, from the left to the right. */
class Expansion {
  readonly #text: string;
  readonly #options: Expanding;
  readonly #size: { used: number };
  #at = 0;

  constructor(text: string, options: Expanding, size: { used: number }) {
    this.#text = text;
    this.#options = options;
    this.#size = size;
  }

  all(): string {
    return this.#until("", 0);
  }

  /** Up to this character, which is taken too. Empty: to the end. */
  #until(stop: string, depth: number): string {
    if (depth > DEPTH_MAX) throw this.#invalid(`${DEPTH_MAX} variables lie in one another: use fewer`);
    let result = "";
    while (this.#at < this.#text.length) {
      const character = this.#text.charAt(this.#at);
      this.#at += 1;
      if (character === stop) return result;
      result += this.#take(character, depth);
    }
    if (stop !== "") throw this.#invalid(`${quoted(this.#text)} has a \${ without its }`);
    return result;
  }

  #take(character: string, depth: number): string {
    if (character === "'") return this.#single();
    if (character === '"') return this.#double(depth);
    if (character === this.#options.escape) return this.#next();
    return character === "$" ? this.#variable(depth) : this.#bounded(character);
  }

  #single(): string {
    const end = this.#text.indexOf("'", this.#at);
    if (end < 0) throw this.#invalid(`${quoted(this.#text)} has a ' without its end`);
    const content = this.#text.slice(this.#at, end);
    this.#at = end + 1;
    return this.#bounded(content);
  }

  #double(depth: number): string {
    const { escape } = this.#options;
    let result = "";
    while (this.#at < this.#text.length) {
      const character = this.#next();
      if (character === '"') return result;
      if (character === "$") result += this.#variable(depth);
      else if (character === escape && ['"', "$", escape].includes(this.#text.charAt(this.#at))) result += this.#next();
      else result += character;
    }
    throw this.#invalid(`${quoted(this.#text)} has a " without its end`);
  }

  #next(): string {
    const character = this.#text.charAt(this.#at);
    this.#at += 1;
    return this.#bounded(character);
  }

  #variable(depth: number): string {
    const isBraced = this.#text.charAt(this.#at) === "{";
    if (isBraced) this.#at += 1;
    const name = this.#name();
    if (!isBraced) return name === "" ? "$" : this.#bounded(this.#options.find(name) ?? "");
    if (name === "") throw this.#invalid(`${quoted(this.#text)} has a \${ without a name`);
    return this.#modified(name, depth);
  }

  #name(): string {
    NAME.lastIndex = this.#at;
    const [name = ""] = NAME.exec(this.#text) ?? [];
    this.#at += name.length;
    return name;
  }

  #modified(name: string, depth: number): string {
    const value = this.#options.find(name);
    const takesEmpty = this.#text.charAt(this.#at) === ":";
    if (takesEmpty) this.#at += 1;
    const kind = this.#text.charAt(this.#at);
    this.#at += 1;
    if (kind === "}" && !takesEmpty) return this.#bounded(value ?? "");
    if (kind !== "-" && kind !== "+" && kind !== "?")
      throw this.#invalid(`\${${shown(name)}...} has something else after its name than }, :-, :+ or :?, which is not supported`);
    const other = this.#until("}", depth + 1);
    const isSet = value !== undefined && !(takesEmpty && value === "");
    if (kind === "?" && !isSet) throw this.#invalid(`the variable ${shown(name)} is not set: ${other === "" ? "set it" : shown(other)}`);
    if (kind === "+") return isSet ? other : "";
    return isSet ? this.#bounded(value) : other;
  }

  #bounded(part: string): string {
    this.#size.used += part.length;
    if (this.#size.used > RESULT_MAX) throw this.#invalid(`with its variables it has more than ${RESULT_MAX} characters`);
    return part;
  }

  #invalid(problem: string): Error {
    return invalidLine(this.#options.line, problem);
  }
}
