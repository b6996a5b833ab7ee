import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import type { JsonForm, Write } from "../../wire/json-form.js";
import { type Leaf, leafOf, scalarLeaf, timestampLeaf } from "../../wire/json-leaf.js";
import { expect } from "../../wire/json-leaf-writer.js";
import { parseTimestamp, quote } from "../../wire/json-text.js";
import { formReader } from "./reader.js";
import type { EnumForm, FormTables } from "./tables.js";
import { formWriter } from "./writer.js";

/**
 * Creates a form from its tables, for `jsonWriter`, `jsonReader` and `jsonPieces`. A type is compiled on first use.
 *
 * @throws TypeError on that first use, if a table names a field that the type does not have
 */
export function makeForm(tables: FormTables): JsonForm {
  const { name, types, enums = {} } = tables;
  const typeOf = ({ typeName }: DescMessage) => (Object.hasOwn(types, typeName) ? types[typeName] : undefined);
  return {
    name,
    leaf: (field) => formLeaf(field, enums),
    enumWriter: ({ typeName }) => {
      const words = enums[typeName];
      return words === undefined ? undefined : wordWriter(words);
    },
    writer: (desc, tools) => {
      const type = typeOf(desc);
      return type === undefined ? undefined : formWriter(desc, type, tools);
    },
    reader: (desc, tools) => {
      const type = typeOf(desc);
      return type === undefined
        ? undefined
        : formReader(desc, type, { ...tools, takesSnakeCase: tables.takesSnakeCase });
    },
  };
}

type Enums = Readonly<Record<string, EnumForm>>;

const int32 = scalarLeaf(ScalarType.INT32);

const zonelessLeaf: Leaf = {
  ...timestampLeaf,
  read: (json) => timestampLeaf.read(json) ?? (typeof json === "string" ? parseTimestamp(`${json}Z`) : undefined),
};

/**
 * Returns the leaf of a field with a form's words for its enums. Timestamps may lack a zone, as earlier versions wrote
 * them, and are then UTC.
 */
function formLeaf(field: DescField, enums: Enums): Leaf | undefined {
  const form = field.enum === undefined ? undefined : enums[field.enum.typeName];
  if (form !== undefined) return wordLeaf(form);
  const leaf = leafOf(field);
  return leaf === timestampLeaf ? zonelessLeaf : leaf;
}

/** An enum by the words of a form. */
function wordLeaf({ words, also, takesNumbers }: EnumForm): Leaf {
  const numbers = new Map<unknown, number>(Object.entries(also ?? {}));
  for (const [number, word] of Object.entries(words).reverse()) numbers.set(word, Number(number));
  return {
    read: (json) => numbers.get(json) ?? (takesNumbers && typeof json === "number" ? int32.read(json) : undefined),
    expectation: `must be one of ${[...new Set(Object.values(words))].join(", ")}`,
    tolerate: () => 0,
  };
}

/** Returns the writer of an enum by a form's words. */
function wordWriter({ words, otherwise }: EnumForm): Write {
  const texts = new Map<unknown, string>(Object.entries(words).map(([number, word]) => [Number(number), quote(word)]));
  if (otherwise !== undefined) return (value) => texts.get(value) ?? quote(otherwise);
  return (value) => texts.get(value) ?? `${expect("number", value)}`;
}
