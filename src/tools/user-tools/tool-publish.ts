import * as z from "zod";
import { defineDataTool, type Tool, type ToolContext } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import { zodSchema } from "../../catalog/tool-schema.ts";
import type { UnitLife } from "../../dynamic/unit-life.ts";
import type { UnitDetail } from "../../dynamic/wire/unit-schema.ts";
import { BelljarError } from "../../errors.ts";
import type { Texts } from "../../text/texts.ts";
import { networkOf, ShownUnit, toShownUnit } from "./shown-unit.ts";
import { unitName } from "./unit-arguments.ts";

/** Of the code, for a person. */
const CODE_CHARACTERS = 20_000;
const Consent = zodSchema(z.strictObject({ publish: z.boolean().default(true).describe("Have it go live") }));

export interface ToolPublishOptions {
  readonly life: () => Promise<UnitLife>;
  readonly texts: Texts;
  /** Nobody is asked. */
  readonly agentPublish: boolean;
}

export function createToolPublish({ life, texts, agentPublish }: ToolPublishOptions): Tool {
  return defineDataTool({
    name: "tool_publish",
    title: "Publish a tool",
    description:
      "Gives all your user's clients the newest version of a tool that you drafted, once its tests pass and the person has agreed. Where nobody can be asked it is refused: tell the person to run `belljar tool publish NAME`.",
    toolset: "tools",
    notForCode: true,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true },
    input: z.strictObject({ name: unitName }),
    output: ShownUnit,
    async run(context, { name }) {
      const tools = await life();
      const { principal, signal } = context;
      const { newest, version, state } = await tools.get(principal, name);
      const wanted = await tools.get(principal, name, newest);
      const before = state === "live" && version !== newest ? await tools.get(principal, name, version) : undefined;
      if (!agentPublish) await askPerson(context, name, await describe(texts, context, { wanted, before }));
      return dataResult(toShownUnit(await tools.publish(principal, name, signal, newest)));
    },
  });
}

async function askPerson(context: ToolContext, name: string, message: string): Promise<void> {
  const answer = await context.ask({ message, form: Consent }).catch((cause: unknown) => {
    if (!(cause instanceof BelljarError) || cause.code !== "PERSON_UNREACHABLE") throw cause;
    const advice = `It stays a draft: tell the person to run \`belljar tool publish ${name}\``;
    throw new BelljarError(cause.code, `${cause.message}. ${advice}`, { cause });
  });
  if (answer.accepted && answer.form.publish) return;
  throw new BelljarError("FORBIDDEN", "The person does not want it to go live: it stays a draft");
}

interface Compared {
  readonly wanted: UnitDetail;
  /** What callers have now. */
  readonly before: UnitDetail | undefined;
}

async function describe(texts: Texts, { principal, signal }: ToolContext, { wanted, before }: Compared): Promise<string> {
  const { name, newest, language, tools, isShared } = wanted;
  const sides = before && {
    from: `version ${before.version}`,
    to: `version ${newest}`,
    before: Buffer.from(before.code),
    after: Buffer.from(wanted.code),
  };
  const diff = sides && (await texts.run("diff", sides, { owner: principal.id, signal })).diff;
  const shown = diff ?? wanted.code;
  if (shown.length > CODE_CHARACTERS)
    throw new BelljarError(
      "FORBIDDEN",
      `The code is too long to be shown to the person, who may publish it: belljar tool get ${name} --version ${newest} --code, then belljar tool publish ${name}`,
    );
  return [
    `An agent asks to publish the tool ${JSON.stringify(name)} (version ${newest}, ${language}) with ${tools.map((tool) => tool.name).join(", ")}.`,
    ...(isShared ? ["Every caller of this home has it: it is shared."] : []),
    ...changed("Packages beside those that its code names", packagesOf(wanted), before && packagesOf(before)),
    ...changed("Network", networkOf(wanted), before && networkOf(before)),
    ...changed("Secrets", secretsOf(wanted), before && secretsOf(before)),
    ...([wanted, before].some((one) => one?.calls) ? changed("Calls of other tools", callsOf(wanted), before && callsOf(before)) : []),
    "",
    diff === undefined ? "Its code:" : "What changes of its code:",
    shown,
  ].join("\n");
}

function changed(what: string, now: string, before: string | undefined): readonly string[] {
  return [before === undefined || before === now ? `${what}: ${now}` : `${what}: ${now} (until now: ${before})`];
}

function packagesOf({ requirements = [], sdist }: UnitDetail): string {
  return `${requirements.map((one) => JSON.stringify(one)).join(", ") || "none"}${sdist ? ", and their own code runs at the install" : ""}`;
}

function callsOf({ calls = [] }: UnitDetail): string {
  return calls.join(", ") || "none";
}

function secretsOf({ secrets = {} }: UnitDetail): string {
  const uses = Object.values(secrets).map(({ secret, hosts }) => `${JSON.stringify(secret)} for ${hosts.join(", ")}`);
  return uses.join("; ") || "none";
}
