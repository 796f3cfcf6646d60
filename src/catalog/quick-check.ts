const SCHEMA_CHARACTERS_MAX = 4_096;
const VALUES_MAX = 200;
const CHARACTERS_MAX = 20_000;
/** Words of JSON Schema with which a check may cost more than the schema and the value are long. A property of such a name counts as one, too. */
const COSTLY =
  /"(?:pattern|patternProperties|\$ref|\$dynamicRef|\$recursiveRef|uniqueItems|propertyNames|contains|dependent\w+|dependencies|unevaluated\w+|not|if|anyOf|oneOf|allOf)":/;

/** Whether a check by this schema ends soon for every value that `isSmall`: no check of it needs a clock. */
export function isQuickSchema(text: string): boolean {
  return text.length <= SCHEMA_CHARACTERS_MAX && !COSTLY.test(text);
}

/** Whether parsed JSON has few values and short texts. Calls nothing recursively, and looks no further than that. */
export function isSmall(value: unknown): boolean {
  const left = [value];
  let characters = 0;
  for (let count = 0; left.length > 0; count += 1) {
    if (count + left.length > VALUES_MAX || characters > CHARACTERS_MAX) return false;
    const next = left.pop();
    if (typeof next === "string") characters += next.length;
    if (typeof next !== "object" || next === null) continue;
    for (const [key, inner] of Object.entries(next)) {
      characters += key.length;
      left.push(inner);
    }
  }
  return characters <= CHARACTERS_MAX;
}
