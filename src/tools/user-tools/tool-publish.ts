import * as z from "zod";
import { defineDataTool, type Tool, type ToolContext } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import { zodSchema } from "../../catalog/tool-schema.ts";
import type { UnitLife } from "../../dynamic/unit-life.ts";
import type { UnitDetail } from "../../dynamic/wire/unit-schema.ts";
import { BelljarError } from "../../errors.ts";
import type { Texts } from "../../text/texts.ts";
import { ShownUnit, toShownUnit } from "./shown-unit.ts";
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
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true },
    input: z.strictObject({ name: unitName }),
    output: ShownUnit,
    async run(context, { name }) {
      const tools = await life();
      const { principal, signal } = context;
      const { newest, version, state } = await tools.get(principal, name);
      const wanted = await tools.get(principal, name, newest);
      const before = state === "live" && version !== newest ? await tools.get(principal, name, version) : undefined;
      if (!agentPublish) await askPerson(context, await describe(texts, context, { wanted, before }));
      return dataResult(toShownUnit(await tools.publish(principal, name, signal, newest)));
    },
  });
}

async function askPerson(context: ToolContext, message: string): Promise<void> {
  const answer = await context.ask({ message, form: Consent });
  if (answer.accepted && answer.form.publish) return;
  throw new BelljarError("FORBIDDEN", "The person does not want it to go live: it stays a draft");
}

interface Compared {
  readonly wanted: UnitDetail;
  /** What callers have now. */
  readonly before: UnitDetail | undefined;
}

async function describe(texts: Texts, { principal, signal }: ToolContext, { wanted, before }: Compared): Promise<string> {
  const { name, newest, language, tools, requirements = [], network = "none", secrets = {} } = wanted;
  const sides = before && {
    from: `version ${before.version}`,
    to: `version ${newest}`,
    before: Buffer.from(before.code),
    after: Buffer.from(wanted.code),
  };
  const diff = sides && (await texts.run("diff", sides, { owner: principal.id, signal })).diff;
  const shown = diff ?? wanted.code;
  return [
    `An agent asks to publish the tool "${name}" (version ${newest}, ${language}) with ${tools.map((tool) => tool.name).join(", ")}.`,
    `Packages: ${requirements.join(", ") || "none of its manifest"}`,
    `Network: ${typeof network === "string" ? network : network.allow.join(", ")}`,
    `Secrets: ${
      Object.values(secrets)
        .map(({ secret, hosts }) => `${secret} for ${hosts.join(", ")}`)
        .join("; ") || "none"
    }`,
    "",
    diff === undefined ? "Its code:" : "What changes of its code:",
    shown.length > CODE_CHARACTERS ? `${shown.slice(0, CODE_CHARACTERS)}\n[cut; see it whole with \`belljar tool get ${name}\`]` : shown,
  ].join("\n");
}
