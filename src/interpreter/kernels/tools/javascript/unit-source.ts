import { join } from "node:path";
import { pathToFileURL } from "node:url";

const ENDINGS: Readonly<Record<string, string>> = { javascript: ".js", typescript: ".ts" };
const SOURCE_LINE_CHARACTERS = 200;

/** The author's code under the name that it has in stack traces. There is no such file. */
export class UnitSource {
  /** Such as `weather.ts`. */
  readonly file: string;
  /** In the folder of the process, so that packages are those of that folder. */
  readonly path: string;
  readonly url: string;
  readonly code: string;

  constructor(name: string, language: string, code: string) {
    this.file = `${name.replace(/[^\w.-]/g, "_")}${ENDINGS[language] ?? ""}`;
    this.path = join(process.cwd(), this.file);
    this.url = pathToFileURL(this.path).href;
    this.code = code;
  }

  line(number: number): string {
    return this.code.split("\n", number)[number - 1]?.trim().slice(0, SOURCE_LINE_CHARACTERS) ?? "";
  }

  /** The first line, from 1, that has the text in quotes. */
  lineOfQuoted(text: string): number | null {
    const at = Math.max(this.code.indexOf(`"${text}"`), this.code.indexOf(`'${text}'`));
    return at === -1 ? null : this.code.slice(0, at).split("\n").length;
  }

  /** The line that a line of a stack names, where it is one of this code. */
  lineIn(frame: string): number | undefined {
    for (const place of [`${this.url}:`, `${this.path}:`]) {
      const at = frame.indexOf(place);
      const line = at === -1 ? Number.NaN : Number.parseInt(frame.slice(at + place.length), 10);
      if (!Number.isNaN(line)) return line;
    }
    return undefined;
  }
}
