import type { DescMessage } from "@bufbuild/protobuf";
import type { JsonForm } from "../../wire/json-form.js";
import { formLeaf, wordWriter } from "./leaves.js";
import { formReader } from "./reader.js";
import type { FormTables } from "./tables.js";
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
