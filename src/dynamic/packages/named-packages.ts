import type { Installer } from "../../packages/requirements.ts";
import type { ToolLanguage } from "../unit.ts";

/** How code of each language begins to name its packages. Where nothing of it stands no sandbox is asked. */
const MARKS: Readonly<Record<Installer, readonly string[]>> = {
  pip: ["<requirements>", "# /// script"],
  npm: ["// requirements", "/* package.json"],
};

/** Undefined for shell, whose programs are those of its template. */
export function installerOf(language: ToolLanguage): Installer | undefined {
  if (language === "shell") return undefined;
  return language === "python" ? "pip" : "npm";
}

/** Whether the code may name packages. False is certain. */
export function mayNamePackages(installer: Installer, code: string): boolean {
  return MARKS[installer].some((mark) => code.includes(mark));
}
