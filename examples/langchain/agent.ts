import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";

export interface AgentOptions {
  /** Any chat model of LangChain that knows tools. */
  readonly model: BaseChatModel;
  /** Where `belljar serve` listens. */
  readonly url: string;
  /** Without one the caller is the local user. */
  readonly token?: string;
  /** Tools that the model gets. Default: all that are listed. */
  readonly tools?: readonly string[];
}

/** Asks a model that works with the tools of a Belljar server, and gives its last words. */
export async function askAgent(question: string, { model, url, token, tools: wanted }: AgentOptions): Promise<string> {
  const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const client = new MultiServerMCPClient({
    mcpServers: { belljar: { transport: "http", url: `${url}/mcp`, headers, automaticSSEFallback: false } },
    throwOnLoadError: true,
  });
  try {
    const listed = await client.getTools();
    const tools = wanted ? listed.filter(({ name }) => wanted.includes(name)) : listed;
    const agent = createReactAgent({ llm: model, tools });
    const { messages } = await agent.invoke({ messages: [{ role: "user", content: question }] });
    return messages.at(-1)?.text ?? "";
  } finally {
    await client.close();
  }
}
