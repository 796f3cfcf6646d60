import { BelljarError } from "../../../src/errors.ts";
import type { ResourceContent } from "../../../src/catalog/tool.ts";
import type { ResourceDoor } from "../../../src/mcp/server/resource-door.ts";
import { PNG } from "./content-tools.ts";

const RESOURCES = [
  { uri: "test://static-text", name: "Static text", description: "A text that stays", mimeType: "text/plain" },
  { uri: "test://static-binary", name: "Static image", description: "An image that stays", mimeType: "image/png" },
  { uri: "test://watched-resource", name: "Watched", description: "A text that may change", mimeType: "text/plain" },
];

export const fixtureResources: ResourceDoor = {
  list: async () => ({ resources: RESOURCES }),
  templates: () => [
    { uriTemplate: "test://template/{id}/data", name: "Template", description: "Data by id", mimeType: "application/json" },
  ],
  read: async (_asker, uri) => ({ contents: [contentOf(uri)] }),
  complete: async () => ({ values: ["paris", "park", "party"] }),
  watch: async (_asker, uri) => (contentOf(uri), { [Symbol.dispose]: () => undefined }),
  onUpdate: () => () => undefined,
  onListChange: () => () => undefined,
};

function contentOf(uri: string): ResourceContent {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id !== undefined) {
    return { uri, mimeType: "application/json", text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) };
  }
  switch (uri) {
    case "test://static-text":
      return { uri, mimeType: "text/plain", text: "This is the content of the static text resource." };
    case "test://static-binary":
      return { uri, mimeType: "image/png", blob: PNG };
    case "test://watched-resource":
      return { uri, mimeType: "text/plain", text: "Watched" };
    default:
      throw new BelljarError("RESOURCE_NOT_FOUND", `No resource "${uri}"`);
  }
}
