import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

type Way = ConstructorParameters<typeof StdioClientTransport> | URL;

/** What a tool answers, once it is in the list, which the client hears of. */
export async function useTool(tool: string, way: Way): Promise<unknown> {
  return (await use(way, tool)).content;
}

/** The same, with arguments, and with the instructions that the client got. */
export async function use(way: Way, tool: string, args: Readonly<Record<string, unknown>> = {}) {
  let told = (): void => undefined;
  const changed = new Promise<void>((resolve) => (told = resolve));
  const onChanged = (): void => void listed().then((isThere) => isThere && told());
  const client = new Client({ name: "test", version: "1" }, { listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged } } });
  const listed = async (): Promise<boolean> => (await client.listTools()).tools.some(({ name }) => name === tool);
  await client.connect(way instanceof URL ? new StreamableHTTPClientTransport(way) : new StdioClientTransport(...way));
  try {
    if (!(await listed())) await changed;
    const { content } = await client.callTool({ name: tool, arguments: { ...args } });
    return { content, instructions: client.getInstructions() };
  } finally {
    await client.close();
  }
}
