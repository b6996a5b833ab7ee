import type { JsonObject } from "@bufbuild/protobuf";
// Not from the index, whose helper for tests imports ajv.
import Form from "@rjsf/core/lib/components/Form.js";
import { type ErrorSchema, type RJSFSchema, type RJSFValidationError, toErrorSchema } from "@rjsf/utils";
import { type ReactNode, useId, useMemo, useState } from "react";
import { talkWords } from "../../texts/talk.js";
import { Boundary } from "../../ui/boundary.js";
import { Button, Note, css as ui } from "../../ui/parts.js";
import type { AskedForm } from "../form-part.js";
import css from "../talk.module.css";
import { prepared } from "./prepared.js";
import { templates } from "./templates.js";
import { validator, withoutGaps } from "./validator.js";
import { widgets } from "./widgets.js";

const { form: texts } = talkWords;

interface FormViewProps {
  readonly form: AskedForm;
  readonly onSubmit: (data: JsonObject) => void;
  readonly onDecline: () => void;
}

/** A form of an agent, with its faults at their fields. */
export default function FormView(props: FormViewProps): ReactNode {
  const { instructions, isParley } = props.form;
  return (
    <>
      {/* Agents of Parley have them in the text beside the form, too. */}
      {!isParley && instructions !== "" && <p>{instructions.slice(0, 2_000)}</p>}
      <Boundary instead={<Note tone="wait">{texts.unusable}</Note>}>
        <Filled {...props} />
      </Boundary>
    </>
  );
}

function Filled({ form, onSubmit, onDecline }: FormViewProps): ReactNode {
  const id = useId();
  const schema = useMemo(() => prepared(form.schema) as RJSFSchema, [form]);
  const [data, setData] = useState<unknown>(form.data);
  const [faults, setFaults] = useState(0);
  const [isSent, setSent] = useState(false);
  const extraErrors = useMemo(() => violationsOf(form), [form]);
  const begun = useMemo(() => JSON.stringify(form.data), [form]);
  const isChanged = JSON.stringify(data) !== begun;
  return (
    <Form
      className={css.form ?? ""}
      schema={schema}
      idPrefix={id}
      formData={data}
      validator={validator}
      templates={templates as never}
      widgets={widgets}
      noHtml5Validate
      showErrorList={false}
      focusOnFirstError
      disabled={isSent}
      {...(!isChanged && { extraErrors, extraErrorsBlockSubmit: false })}
      onChange={(event) => setData(event.formData)}
      onError={(errors) => setFaults(errors.length)}
      onSubmit={(event) => {
        setSent(true);
        onSubmit(withoutGaps(event.formData) as JsonObject);
      }}
    >
      <div className={ui.row}>
        <Button kind="main" type="submit" disabled={isSent}>
          {texts.submit}
        </Button>
        <Button
          disabled={isSent}
          onClick={() => {
            setSent(true);
            onDecline();
          }}
        >
          {texts.decline}
        </Button>
        <span className={css.fault} role="status">
          {faults > 0 ? texts.faults(faults) : ""}
        </span>
      </div>
    </Form>
  );
}

/** The faults that the agent found, at their fields. */
function violationsOf({ violations }: AskedForm): ErrorSchema {
  return toErrorSchema(
    violations.map(
      ({ field, description }): RJSFValidationError => ({
        property: field === "" ? "." : `.${field}`,
        message: description,
        stack: description,
      }),
    ),
  );
}
