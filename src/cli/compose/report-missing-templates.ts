import type { CatalogLog } from "../../catalog/catalog.ts";
import type { Language } from "../../interpreter/language.ts";
import type { LocalStack } from "./open-stack.ts";

export interface ReportOptions {
  readonly stack: Pick<LocalStack, "languageTemplates">;
  readonly log: CatalogLog;
}

/** Logs which languages have a template that is not there, so that it is found out at the start and not by a model. */
export async function reportMissingTemplates(languages: readonly Language[], { stack, log }: ReportOptions): Promise<void> {
  const named = languages.filter(({ template }) => template !== undefined);
  if (named.length === 0) return;
  const known = new Set((await stack.languageTemplates()).map(({ name }) => name));
  for (const { name, template = "" } of named.filter((one) => !known.has(one.template ?? ""))) {
    const remedy = `make it with \`belljar template import ${template} IMAGE\`, or change languages.${name}`;
    log.error({}, `Programs in ${name} cannot run: there is no template "${template}" (${remedy})`);
  }
}
