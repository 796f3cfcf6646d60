import type { ChangeListener } from "../../../catalog/caller.ts";
import { isNestedTooDeep } from "../../../catalog/nesting.ts";
import { BelljarError } from "../../../errors.ts";
import type { Principal } from "../../../sandbox/sandbox.ts";
import { isRecord } from "../../client/config/is-record.ts";
import type { Asker, Completion } from "../../server/asker.ts";
import type { PromptDescription, PromptDoor, PromptResult } from "../../server/prompt-door.ts";
import type { WantedValue } from "../../server/resource-door.ts";
import type { NamedPrompt } from "../server-definitions.ts";
import type { Upstream } from "../upstream.ts";
import { counted } from "../../../catalog/counted.ts";
import { mayRelay } from "./may-relay.ts";
import type { HubResourcesOptions } from "./hub-resources.ts";
import { firstBlocks } from "./first-blocks.ts";
import { relinkBlock } from "./relink.ts";
import { toCompletion } from "./to-completion.ts";
import { withoutServer } from "./to-result.ts";

/** The prompts of the hub's servers, named as their tools are. */
export class HubPrompts implements PromptDoor {
  readonly #options: HubResourcesOptions;

  constructor(options: HubResourcesOptions) {
    this.#options = options;
  }

  list(principal: Principal): readonly PromptDescription[] {
    return this.#seen(principal).flatMap(({ prompts }) => prompts.map(({ name, definition }) => ({ ...definition, name })));
  }

  async get(asker: Asker, name: string, args: Readonly<Record<string, string>>): Promise<PromptResult> {
    const { principal } = asker;
    return counted(this.#options, { principal, method: "prompts/get", args: { name, arguments: args } }, async () => {
      const { upstream, prompt } = this.#find(principal, name);
      const answer = await upstream.request(asker, "prompts/get", { name: prompt.definition["name"], arguments: args });
      if (isNestedTooDeep(answer))
        throw new BelljarError("SERVER_INCOMPATIBLE", `The server "${upstream.name}" answered with something that is nested too deep`);
      const { messages, resultType: _, ...beside } = answer;
      const relink = this.#options.links.relink(principal, upstream.label);
      const list = firstBlocks(messages, (text) => ({ role: "user", content: { type: "text", text } }));
      const relinked = list.map((one) => (isRecord(one) ? { ...one, content: relinkBlock(one["content"], relink) } : one));
      // As the server sent them: blocks that this release does not know pass too.
      return { ...withoutServer(beside), messages: relinked as unknown as PromptResult["messages"] };
    });
  }

  async complete(asker: Asker, name: string, { given = {}, ...argument }: WantedValue): Promise<Completion> {
    const { principal } = asker;
    const args = { ref: { type: "ref/prompt", name }, argument, context: { arguments: given } };
    return counted(this.#options, { principal, method: "completion/complete", args }, async () => {
      const { upstream, prompt } = this.#find(principal, name);
      if (upstream.listed.capabilities["completions"] === undefined) return { values: [] };
      const params = { ...args, ref: { ...args.ref, name: prompt.definition["name"] } };
      return toCompletion(await upstream.request(asker, "completion/complete", params));
    });
  }

  onChange(listener: ChangeListener): () => void {
    return this.#options.view.onList("prompts", listener);
  }

  #seen(principal: Principal): readonly Upstream[] {
    return mayRelay(principal) ? this.#options.view.upstreamsOf(principal) : [];
  }

  /** Of two of one name, as there may be where names have no prefix, the first server's. Throws `PROMPT_NOT_FOUND`. */
  #find(principal: Principal, name: string): Owned {
    for (const upstream of this.#seen(principal)) {
      const prompt = upstream.prompts.find((one) => one.name === name);
      if (prompt) return { upstream, prompt };
    }
    throw new BelljarError("PROMPT_NOT_FOUND", `No prompt ${JSON.stringify(name.slice(0, 100))}; list them to see which there are`);
  }
}

interface Owned {
  readonly upstream: Upstream;
  readonly prompt: NamedPrompt;
}
