import { expect, it } from "vitest";
import * as client from "../../src/client.ts";
import * as library from "../../src/index.ts";

/** Programs import these by name. */
it("keeps what the library exports", () => {
  expect(Object.keys(library).toSorted()).toMatchInlineSnapshot(`
    [
      "BelljarError",
      "ERRORS",
      "LOCAL",
      "builtinTools",
      "checkNetworkPolicy",
      "createCatalog",
      "createContext",
      "createEgress",
      "createInterpreter",
      "createLocalSandboxes",
      "createRemoteSandboxes",
      "createRemoteTemplates",
      "createSecretStore",
      "createStoredTemplates",
      "createTemplates",
      "dataResult",
      "defineDataTool",
      "defineTool",
      "interruptContext",
      "listContexts",
      "loadConfig",
      "openOwnListeners",
      "openRuntime",
      "openRuntimes",
      "parseNetworkPolicy",
      "removeContext",
      "restartContext",
      "runCode",
      "textResult",
    ]
  `);
});

it("keeps what belljar/client exports", () => {
  expect(Object.keys(client).toSorted()).toEqual(["BelljarError", "openMcpClient"]);
});
