import type { Tool } from "../../catalog/tool.ts";
import { todoRead } from "./todo-read.ts";
import { todoWrite } from "./todo-write.ts";

/** A list of what is to be done, for callers that work in several steps. */
export const todoTools: readonly Tool[] = [todoRead, todoWrite];
