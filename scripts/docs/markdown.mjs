const cell = (text) => String(text).replaceAll("|", "\\|").replaceAll("\n", " ");
const row = (...cells) => `| ${cells.map(cell).join(" | ")} |`;

export const table = (head, rows) => [row(...head), `|${"---|".repeat(head.length)}`, ...rows.map((cells) => row(...cells))].join("\n");

export const page = (title, ...parts) => `# ${title}\n\n<!-- Made by \`npm run docs\` from the code. -->\n\n${parts.join("\n\n")}\n`;

/** A row for each field of an object: name, type, whether it is required, what it is. */
export function schemaRows({ properties = {}, required = [] }) {
  return Object.entries(properties).map(([name, schema]) => [
    `\`${name}\``,
    typeOf(schema),
    required.includes(name) ? "yes" : "no",
    schema.description ?? "",
  ]);
}

function typeOf(schema) {
  if (schema.enum) return schema.enum.map((value) => `\`${value}\``).join(", ");
  if (schema.type === "array") return `array of ${typeOf(schema.items ?? {})}`;
  if (schema.type === "object" && schema.properties) return `object of ${fieldsOf(schema)}`;
  const kinds = schema.anyOf ?? schema.oneOf;
  return schema.type ?? kinds?.map(typeOf).join(" or ") ?? "any";
}

function fieldsOf({ properties }) {
  return Object.keys(properties)
    .map((name) => `\`${name}\``)
    .join(", ");
}
