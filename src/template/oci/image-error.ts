import { BelljarError } from "../../errors.ts";
import { printable } from "../../files/printable.ts";

const SHOWN = 120;

/** The image contradicts itself or its format. Nothing that it says is used. */
export function invalidImage(what: string, cause?: unknown): BelljarError {
  return new BelljarError("IMAGE_INVALID", `The image cannot be used: ${what}`, { cause });
}

/** The image is as its maker meant it, and Belljar does not read this kind. */
export function unsupportedImage(what: string): BelljarError {
  return new BelljarError("NOT_SUPPORTED", `Belljar cannot use this image: ${what}`);
}

/** A text of a stranger, short and harmless in a message. */
export function shown(text: string): string {
  return printable(text.length > SHOWN ? `${text.slice(0, SHOWN)}...` : text);
}
