"""
The gRPC side of the protocol double: the client library's own service contract.

Requests arrive as the server's protobuf messages and are answered by the same engine as
those over HTTP.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

import grpc as transport
from qdrant_client import grpc, models
from qdrant_client.conversions.conversion import GrpcToRest, RestToGrpc

from tests.stores.qdrant_double import QdrantDouble, Refusal

CODES = {
    400: transport.StatusCode.INVALID_ARGUMENT,
    401: transport.StatusCode.UNAUTHENTICATED,
    404: transport.StatusCode.NOT_FOUND,
    409: transport.StatusCode.ALREADY_EXISTS,
    500: transport.StatusCode.INTERNAL,
    503: transport.StatusCode.UNAVAILABLE,
}


class GrpcDouble:
    """Serves a `QdrantDouble` over gRPC; its faults apply, with the method's name as path."""

    def __init__(self, double: QdrantDouble) -> None:
        self.double = double

    def __enter__(self) -> Self:
        self._pool = ThreadPoolExecutor(4)
        self._server = transport.server(self._pool, options=[("grpc.so_reuseport", 0)])
        if self.double.certificate:
            key, chain = (path.read_bytes() for path in self.double.certificate)
            secure = transport.ssl_server_credentials([(key, chain)])
            self.port = self._server.add_secure_port("127.0.0.1:0", secure)
        else:
            self.port = self._server.add_insecure_port("127.0.0.1:0")
        grpc.add_QdrantServicer_to_server(_Root(self.double), self._server)
        grpc.add_CollectionsServicer_to_server(_Collections(self.double), self._server)
        grpc.add_PointsServicer_to_server(_Points(self.double), self._server)
        self._server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.stop(None).wait()
        self._pool.shutdown()


def served(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    """A method of the contract: logged, with faults and the key, its refusals as status codes."""

    @functools.wraps(method)
    def guarded(self: Any, request: Any, context: transport.ServicerContext) -> Any:
        double = self.double
        with double.lock:
            double.log.append(("GRPC", method.__name__))
            fault = double.fault("GRPC", method.__name__)
            if fault and not fault.apply:
                context.abort(CODES[fault.status], fault.body)
            if double.api_key and dict(context.invocation_metadata()).get("api-key") != double.api_key:
                context.abort(CODES[401], "Must provide an API key")
            try:
                answer = method(self, request)
            except Refusal as error:
                context.abort(CODES[error.status], str(error))
            except ValueError as error:
                context.abort(CODES[400], f"Wrong input: {error}")
            if fault:
                context.abort(CODES[fault.status], fault.body)
            return answer

    return guarded


class _Service:
    def __init__(self, double: QdrantDouble) -> None:
        self.double = double


class _Root(_Service, grpc.QdrantServicer):
    @served
    def HealthCheck(self, request: Any) -> Any:  # noqa: N802
        return grpc.HealthCheckReply(title="qdrant", version=self.double.version)


class _Collections(_Service, grpc.CollectionsServicer):
    @served
    def List(self, request: Any) -> Any:  # noqa: N802
        names = self.double.names()
        return grpc.ListCollectionsResponse(
            collections=[grpc.CollectionDescription(name=name) for name in names]
        )

    @served
    def ListAliases(self, request: Any) -> Any:  # noqa: N802
        return grpc.ListAliasesResponse(
            aliases=[
                grpc.AliasDescription(alias_name=alias, collection_name=name)
                for alias, name in self.double.aliases().items()
            ]
        )

    @served
    def UpdateAliases(self, request: Any) -> Any:  # noqa: N802
        actions = [GrpcToRest.convert_alias_operations(action) for action in request.actions]
        done = self.double.change_aliases(models.ChangeAliasesOperation(actions=actions))
        return grpc.CollectionOperationResponse(result=done)

    @served
    def CollectionExists(self, request: Any) -> Any:  # noqa: N802
        exists = self.double.engine.collection_exists(request.collection_name)
        return grpc.CollectionExistsResponse(result=grpc.CollectionExists(exists=exists))

    @served
    def Create(self, request: Any) -> Any:  # noqa: N802
        body = models.CreateCollection(
            vectors=GrpcToRest.convert_vectors_config(request.vectors_config),
            sparse_vectors=GrpcToRest.convert_sparse_vector_config(request.sparse_vectors_config),
            shard_number=request.shard_number,
        )
        return grpc.CollectionOperationResponse(result=self.double.create(request.collection_name, body))

    @served
    def Delete(self, request: Any) -> Any:  # noqa: N802
        return grpc.CollectionOperationResponse(result=self.double.delete(request.collection_name))


class _Points(_Service, grpc.PointsServicer):
    @served
    def CreateFieldIndex(self, request: Any) -> Any:  # noqa: N802
        kinds = {grpc.FieldType.FieldTypeKeyword: "keyword", grpc.FieldType.FieldTypeBool: "bool"}
        body = models.CreateFieldIndex(field_name=request.field_name, field_schema=kinds[request.field_type])
        return _updated(self.double.index(request.collection_name, body))

    @served
    def Upsert(self, request: Any) -> Any:  # noqa: N802
        assert request.wait
        points = [GrpcToRest.convert_point_struct(point) for point in request.points]
        return _updated(self.double.upsert(request.collection_name, points))

    @served
    def Count(self, request: Any) -> Any:  # noqa: N802
        self.double.known(request.collection_name)
        count = self.double.engine.count(request.collection_name).count
        return grpc.CountResponse(result=grpc.CountResult(count=count))

    @served
    def QueryBatch(self, request: Any) -> Any:  # noqa: N802
        self.double.known(request.collection_name)
        answers = [
            self.double.engine.query_points(
                request.collection_name,
                query=GrpcToRest.convert_query(one.query),
                using=one.using,
                limit=one.limit,
                query_filter=GrpcToRest.convert_filter(one.filter) if one.HasField("filter") else None,
                with_payload=False,
            )
            for one in request.query_points
        ]
        return grpc.QueryBatchResponse(
            result=[
                grpc.BatchResult(result=[RestToGrpc.convert_scored_point(point) for point in answer.points])
                for answer in answers
            ]
        )

    @served
    def Scroll(self, request: Any) -> Any:  # noqa: N802
        self.double.known(request.collection_name)
        records, _ = self.double.engine.scroll(
            request.collection_name,
            scroll_filter=GrpcToRest.convert_filter(request.filter),
            limit=request.limit,
            with_payload=False,
        )
        for record in records:
            record.payload = {}
        return grpc.ScrollResponse(result=[RestToGrpc.convert_record(record) for record in records])

    @served
    def Get(self, request: Any) -> Any:  # noqa: N802
        self.double.known(request.collection_name)
        records = self.double.engine.retrieve(
            request.collection_name,
            [GrpcToRest.convert_point_id(name) for name in request.ids],
            with_payload=GrpcToRest.convert_with_payload_selector(request.with_payload),
            with_vectors=GrpcToRest.convert_with_vectors_selector(request.with_vectors),
        )
        for record in records:
            record.payload = record.payload or {}
        return grpc.GetResponse(result=[RestToGrpc.convert_record(record) for record in records])


def _updated(result: models.UpdateResult) -> Any:
    return grpc.PointsOperationResponse(result=RestToGrpc.convert_update_result(result))
