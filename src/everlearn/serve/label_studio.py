"""Label Studio's machine-learning backend: its four endpoints."""

from fastapi import APIRouter

router = APIRouter(tags=["label studio"])
