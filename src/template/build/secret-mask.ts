import { EchoMask } from "../../network/secrets/echo-mask.ts";
import { createEchoPatterns } from "../../network/secrets/echo-patterns.ts";
import { EchoScanner } from "../../network/secrets/echo-scanner.ts";

/** A shorter line, such as one with a bracket, says nothing and stands everywhere. */
const LINE_MIN = 8;

/** Takes secrets out of what programs print, each of their longer lines too, also where they are encoded in a common way. */
export function maskOf(secrets: Readonly<Record<string, string>>): EchoMask {
  const values = Object.entries(secrets).flatMap(([id, secret]) => {
    const whole = secret.trim();
    const lines = whole.split("\n").map((line) => line.trim());
    const parts = new Set([whole, ...lines.filter((line) => line.length >= LINE_MIN)]);
    return [...parts].filter((value) => value !== "").map((value) => ({ value, placeholder: `[secret ${id}]` }));
  });
  return new EchoMask(new EchoScanner(createEchoPatterns(values)), { keepsLength: false });
}
