import { BelljarError } from "../errors.ts";

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
export const VALUE_MAX_BYTES = 65_536;

export function isSecretName(name: string): boolean {
  return NAME.test(name);
}

/** Throws `ARGUMENTS_INVALID`. */
export function assertSecretName(name: string): void {
  if (isSecretName(name)) return;
  throw invalid("A secret's name is 1 to 64 letters, digits, dots, hyphens and underscores, and starts with a letter or digit");
}

/** Throws `ARGUMENTS_INVALID` for a value that no HTTP header can carry. The message does not show the value. */
export function assertSecretValue(value: string): void {
  const bytes = Buffer.byteLength(value);
  if (bytes === 0) throw invalid("The value is empty: give it on stdin or at the prompt");
  if (bytes > VALUE_MAX_BYTES) throw invalid(`The value has ${bytes} bytes; a secret has at most ${VALUE_MAX_BYTES}`);
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u001f\u007f]/.test(value))
    throw invalid(
      "The value has line breaks or other control characters, which no header can carry: store one line (base64 -w0 makes one)",
    );
  if (value !== value.trim()) throw invalid("The value starts or ends with a space, which no header can carry");
  if (Buffer.from(value).toString() !== value) throw invalid("The value is not valid Unicode text");
}

function invalid(message: string): BelljarError {
  return new BelljarError("ARGUMENTS_INVALID", message);
}
