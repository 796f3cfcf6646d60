/** What `import "zod"` gives a tool whose own dependencies have no zod. A bundle of its own: only tools that import it load it. */
export * from "zod";
export { default } from "zod";
