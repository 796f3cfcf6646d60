import * as z from "zod";
import type { SandboxInfo } from "../../sandbox/sandbox.ts";
import { sandboxSchema } from "../../sandbox/wire/sandbox-schema.ts";
import type { TemplateDetail } from "../../template/wire/template-schema.ts";

const shown = sandboxSchema.omit({ owner: true });
const NAMES = Object.keys(shown.shape) as readonly (keyof typeof shown.shape)[];

/** A sandbox as its resource shows it, in snake case, with null for what it does not have. Only its owner reads it, so it names no owner. */
export function toDetail(info: SandboxInfo): Readonly<Record<string, unknown>> {
  const fields = z.encode(shown, info);
  return Object.fromEntries(NAMES.map((name) => [toSnakeCase(name), fields[name] ?? null]));
}

/** A template as its resource shows it, in snake case. */
export function toTemplateDetail(template: TemplateDetail): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(template).map(([name, value]) => [toSnakeCase(name), value]));
}

function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
