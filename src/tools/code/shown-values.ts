import type { ToolContent } from "../../catalog/tool.ts";
import type { CodeError, ShownValue } from "../../interpreter/lasting/kernel-run.ts";
import type { Room } from "../../interpreter/output-window.ts";
import { countLines, excerpt } from "../../interpreter/output-window.ts";
import { closeLine } from "../output-text.ts";
import { plainText } from "../plain-text.ts";

/** More pictures than a model looks at in one result. */
const PICTURES_MAX = 8;
/** As hosts take it. */
const PICTURE_MAX_CHARACTERS = 5 * 1_048_576;
/** A chart is shown as a picture; its numbers stand below it while they are few. */
const CHART_MAX_CHARACTERS = 2_000;
/** Below what the catalog takes as the value of a result. */
const VALUE_MAX_CHARACTERS = 1_048_576;
const CHART = "application/vnd.belljar.chart+json";
const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/** What a model reads best comes first. */
const TEXTS = ["text/plain", "text/markdown", "text/latex", "application/json", "text/html", "image/svg+xml"];
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

export interface ShownValues {
  /** Below what the code printed. */
  readonly text: string;
  readonly pictures: readonly ToolContent[];
  /** Some of it was left out. */
  readonly truncated: boolean;
}

export interface ShowValuesOptions {
  /** What of the result's size is left below the output. */
  readonly room: Room;
  readonly raw: boolean;
  /** Shown last. */
  readonly error?: CodeError | undefined;
}

/** Values as a model is given them: pictures as pictures, of everything else the text that says most, while there is room. */
export function showValues({ values }: { readonly values: readonly ShownValue[] }, { room, raw, error }: ShowValuesOptions): ShownValues {
  const pictures: ToolContent[] = [];
  const parts: string[] = [];
  let [{ bytes, lines }, truncated] = [room, false];
  const show = (whole: string): void => {
    if (whole === "") return;
    const all = closeLine(raw ? whole : plainText(whole, Buffer.byteLength(whole)).text);
    const { text } = excerpt(all, { bytes, lines });
    truncated ||= text !== all;
    [bytes, lines] = [Math.max(0, bytes - Buffer.byteLength(text)), Math.max(0, lines - countLines(text))];
    parts.push(closeLine(text));
  };
  for (const value of values) {
    const picture = toPicture(value);
    if (picture && pictures.length < PICTURES_MAX) pictures.push(picture);
    show(picture ? textBesidePicture(value, pictures.includes(picture)) : textOf(value));
  }
  if (error) show(errorText(error));
  return { text: parts.join(""), pictures, truncated };
}

function toPicture({ data }: ShownValue): ToolContent | undefined {
  for (const mimeType of PICTURES) {
    const picture = data[mimeType];
    if (typeof picture !== "string") continue;
    const base64 = picture.replaceAll("\n", "");
    if (base64.length > 0 && base64.length <= PICTURE_MAX_CHARACTERS && BASE64.test(base64))
      return { type: "image", data: base64, mimeType };
  }
  return undefined;
}

function textBesidePicture({ data }: ShownValue, isShown: boolean): string {
  const chart = data[CHART] === undefined ? "" : asText(data[CHART]);
  const numbers = chart.length > CHART_MAX_CHARACTERS ? "" : chart;
  return isShown ? numbers : `[one more picture, not shown]${numbers === "" ? "" : `\n${numbers}`}`;
}

function textOf({ data }: ShownValue): string {
  const found = TEXTS.find((mimeType) => data[mimeType] !== undefined);
  if (found !== undefined) return asText(data[found]);
  return `[a value of ${Object.keys(data).slice(0, 4).join(", ") || "no type"}]`;
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A traceback ends with its name and message. */
function errorText({ name, message, traceback }: CodeError): string {
  return traceback === "" ? `${name}: ${message}` : traceback;
}

/** Values as data, in which a note stands in the place of each picture. */
export function withoutPictures(values: readonly ShownValue[]): readonly ShownValue[] {
  return values.map(({ type, data }) => ({ type, data: Object.fromEntries(Object.entries(data).map(toNote)) }));
}

/** With their pictures, if a value of the catalog has room for them. They are shown beside it anyway. */
export function boundPictures(values: readonly ShownValue[]): readonly ShownValue[] {
  const characters = values.flatMap(({ data }) => Object.values(data)).reduce<number>((sum, value) => sum + lengthOf(value), 0);
  return characters > VALUE_MAX_CHARACTERS ? withoutPictures(values) : values;
}

function lengthOf(value: unknown): number {
  return typeof value === "string" ? value.length : 0;
}

function toNote([mimeType, value]: readonly [string, unknown]): readonly [string, unknown] {
  const isBinary = typeof value === "string" && (PICTURES.includes(mimeType) || mimeType === "application/pdf");
  return [mimeType, isBinary ? `${Math.floor((value.length * 3) / 4)} bytes` : value];
}
