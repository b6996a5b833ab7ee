package example;

import com.google.lf.a2a.v1.A2AServiceGrpc;
import com.google.lf.a2a.v1.A2AServiceGrpc.A2AServiceBlockingStub;
import com.google.lf.a2a.v1.CancelTaskRequest;
import com.google.lf.a2a.v1.GetTaskRequest;
import com.google.lf.a2a.v1.ListTasksRequest;
import com.google.lf.a2a.v1.Message;
import com.google.lf.a2a.v1.Part;
import com.google.lf.a2a.v1.Role;
import com.google.lf.a2a.v1.SendMessageConfiguration;
import com.google.lf.a2a.v1.SendMessageRequest;
import com.google.lf.a2a.v1.StreamResponse;
import com.google.lf.a2a.v1.SubscribeToTaskRequest;
import com.google.lf.a2a.v1.TaskArtifactUpdateEvent;
import com.google.lf.a2a.v1.TaskState;
import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import io.grpc.Context;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.MetadataUtils;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

/**
 * Calls an agent with the client that is generated from the contract. The first argument is its address, such as localhost:50051.
 * With TOKEN in the environment it shows that token with each call.
 */
public final class Client {
  /** The extension with which a stream goes on exactly where it was cut. */
  private static final String RESUME = "urn:parley:ext:resume:v1";

  private final A2AServiceBlockingStub stub;

  private Client(A2AServiceBlockingStub stub) {
    this.stub = stub;
  }

  public static void main(String[] args) throws Exception {
    var channel = Grpc.newChannelBuilder(args[0], InsecureChannelCredentials.create()).build();
    var token = System.getenv("TOKEN");
    var stub = A2AServiceGrpc.newBlockingStub(channel);
    new Client(token == null ? stub : with(stub, "authorization", "Bearer " + token)).tour();
    channel.shutdown().awaitTermination(5, TimeUnit.SECONDS);
  }

  private void tour() {
    var task = stub.sendMessage(say("echo hello")).getTask();
    System.out.println("send: " + task.getStatus().getState() + " " + task.getArtifacts(0).getParts(0).getText());
    System.out.println("stream: " + read(stub.sendStreamingMessage(say("stream 3 4"))).text);
    var got = stub.getTask(GetTaskRequest.newBuilder().setId(task.getId()).build());
    System.out.println("get: " + got.getStatus().getState());
    var list = stub.listTasks(ListTasksRequest.newBuilder().setContextId(task.getContextId()).build());
    System.out.println("list: " + list.getTotalSize());
    System.out.println("resume: " + resumed());
    System.out.println("cancel: " + canceled());
    System.out.println("error: " + explained(() -> stub.getTask(GetTaskRequest.newBuilder().setId("nobody").build())));
    var empty = SendMessageRequest.newBuilder().setMessage(Message.newBuilder()).build();
    System.out.println("invalid: " + explained(() -> stub.sendMessage(empty)));
    var hurried = stub.withDeadlineAfter(300, TimeUnit.MILLISECONDS);
    System.out.println("late: " + explained(() -> hurried.sendMessage(say("wait 20000"))).split(" ")[0]);
  }

  /** A message of the user. An idempotency key in the metadata would make it safe to send again. */
  private static SendMessageRequest say(String text) {
    var message =
        Message.newBuilder()
            .setMessageId(UUID.randomUUID().toString())
            .setRole(Role.ROLE_USER)
            .addParts(Part.newBuilder().setText(text));
    return SendMessageRequest.newBuilder().setMessage(message).build();
  }

  private static A2AServiceBlockingStub with(A2AServiceBlockingStub stub, String name, String value) {
    var metadata = new Metadata();
    metadata.put(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER), value);
    return stub.withInterceptors(MetadataUtils.newAttachHeadersInterceptor(metadata));
  }

  private record Reading(String text, TaskState state) {}

  /** The text of the artifacts that a stream brings, and the state at its end. */
  private static Reading read(Iterator<StreamResponse> stream) {
    var text = new StringBuilder();
    var state = TaskState.TASK_STATE_UNSPECIFIED;
    while (stream.hasNext()) {
      var event = stream.next();
      event.getArtifactUpdate().getArtifact().getPartsList().forEach(part -> text.append(part.getText()));
      if (event.hasStatusUpdate()) state = event.getStatusUpdate().getStatus().getState();
    }
    return new Reading(text.toString(), state);
  }

  /** Leaves a stream behind its first piece, and goes on where it was. */
  private String resumed() {
    var resuming = with(stub, "a2a-extensions", RESUME);
    var cut = Context.current().withCancellation();
    TaskArtifactUpdateEvent first;
    try {
      first = cut.call(() -> firstPiece(resuming.sendStreamingMessage(say("stream 4 4 100"))));
    } catch (Exception failed) {
      throw new IllegalStateException(failed);
    } finally {
      cut.cancel(null);
    }
    var seen = first.getMetadata().getFieldsOrThrow(RESUME).getStructValue().getFieldsOrThrow("generation");
    var after = with(resuming, "parley-after-generation", String.valueOf((long) seen.getNumberValue()));
    var rest = read(after.subscribeToTask(SubscribeToTaskRequest.newBuilder().setId(first.getTaskId()).build()));
    return first.getArtifact().getParts(0).getText() + rest.text;
  }

  private static TaskArtifactUpdateEvent firstPiece(Iterator<StreamResponse> stream) {
    while (true) {
      var event = stream.next();
      if (event.hasArtifactUpdate()) return event.getArtifactUpdate();
    }
  }

  /** Cancels a task that somebody subscribes to. */
  private TaskState canceled() {
    var configuration = SendMessageConfiguration.newBuilder().setReturnImmediately(true);
    var id = stub.sendMessage(say("wait 20000").toBuilder().setConfiguration(configuration).build()).getTask().getId();
    var stream = stub.subscribeToTask(SubscribeToTaskRequest.newBuilder().setId(id).build());
    stream.next();
    stub.cancelTask(CancelTaskRequest.newBuilder().setId(id).build());
    return read(stream).state;
  }

  /** The code of the error that a call brings, its reason, and the fields that it names. */
  private static String explained(Runnable call) {
    try {
      call.run();
      return "no error";
    } catch (StatusRuntimeException failed) {
      var words = new ArrayList<>(List.of(failed.getStatus().getCode().toString()));
      var status = StatusProto.fromThrowable(failed);
      if (status != null) for (var detail : status.getDetailsList()) words.addAll(wordsOf(detail));
      return String.join(" ", words);
    }
  }

  private static List<String> wordsOf(Any detail) {
    try {
      if (detail.is(ErrorInfo.class)) return List.of(detail.unpack(ErrorInfo.class).getReason());
      if (!detail.is(BadRequest.class)) return List.of();
      var violations = detail.unpack(BadRequest.class).getFieldViolationsList();
      return violations.stream().map(BadRequest.FieldViolation::getField).sorted().toList();
    } catch (InvalidProtocolBufferException damaged) {
      return List.of("a damaged detail");
    }
  }
}
