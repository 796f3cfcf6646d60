import { expect, it } from "vitest";
import { createCallQuota } from "../../../catalog/call-quota.ts";
import { LOCAL } from "../../../sandbox/sandbox.ts";
import { HubLinks } from "./hub-links.ts";
import { HubPrompts } from "./hub-prompts.ts";
import { HubResources } from "./hub-resources.ts";

it.each([
  ["resources/read", "RESOURCE_NOT_FOUND"],
  ["resources/subscribe", "RESOURCE_NOT_FOUND"],
  ["prompts/get", "PROMPT_NOT_FOUND"],
  ["completion/complete", "PROMPT_NOT_FOUND"],
])("counts and records %s of what there is not", async (method, code) => {
  const [recorded, entered]: [unknown[], string[]] = [[], []];
  const inner = createCallQuota();
  const options = {
    view: { upstreamsOf: () => [], onList: () => () => undefined },
    links: new HubLinks(() => []),
    quota: { ...inner, enter: (...asked: Parameters<typeof inner.enter>) => (entered.push(asked[0].id), inner.enter(...asked)) },
    audit: {
      record: ({ tool, outcome }: { tool: string; outcome: string }) => void recorded.push([tool, outcome]),
      assertWritable: () => undefined,
      written: async () => undefined,
    },
  };
  const [resources, prompts] = [new HubResources(options), new HubPrompts(options)];
  const asker = { principal: LOCAL, signal: AbortSignal.timeout(60_000) };
  const work: Readonly<Record<string, () => Promise<unknown>>> = {
    "resources/read": () => resources.read(asker, "x://none"),
    "resources/subscribe": () => resources.watch(asker, "x://none"),
    "prompts/get": () => prompts.get(asker, "none", {}),
    "completion/complete": () => prompts.complete(asker, "none", { name: "a", value: "" }),
  };
  await expect(work[method]?.()).rejects.toMatchObject({ code });
  expect([recorded, entered]).toEqual([[[method, code]], [LOCAL.id]]);
});
